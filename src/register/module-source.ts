import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FormatError } from '../base/errors.js';
import { type ForeignSourceMap, transform, type SourceType } from '../source/index.js';

/** Kinds of files by the formats that Node gives them; null where Node decides by the code. */
const sourceTypes: ReadonlyMap<string | null, SourceType> = new Map([
  ['module', 'module'],
  ['module-typescript', 'module'],
  ['commonjs', 'commonjs'],
  ['commonjs-typescript', 'commonjs'],
  [null, 'unambiguous'],
]);

/** The directive as a function has it. */
const asked = /(["'])use graph\1/;

/** True if Node may have to convert a file of a format. */
export function isConvertible(url: string, format: string | null): boolean {
  return url.startsWith('file:') && sourceTypes.has(format) && !url.startsWith(home);
}

/** The folder of this file, or of the bundle: it mentions the directive and has no function with it. */
const home = new URL('.', import.meta.url).href;

/**
 * The code of a file with its functions converted and the map to the original at its end, as Node applies
 * it with `--enable-source-maps`; null where nothing has the directive.
 */
export function convertedSource(source: string, url: string, format: string | null): string | null {
  if (!asked.test(source)) return null;
  const filename = fileURLToPath(url);
  const sourceType = sourceTypes.get(format)!;
  const inputMap = inputMapOf(source, url);
  const result = transform(source, { filename, sourceType, ...(inputMap && { inputMap }) });
  if (result === null) return null;
  const map = inputMap ? result.map : { ...result.map, sources: [url] };
  const encoded = Buffer.from(JSON.stringify(map)).toString('base64');
  return `${result.code}\n//# sourceMappingURL=data:application/json;base64,${encoded}\n`;
}

/**
 * The source map that code names in its last such comment; its sources are named by their URLs.
 * @throws FormatError for a map that is not JSON.
 */
export function inputMapOf(source: string, url: string): ForeignSourceMap | undefined {
  const comment = [...source.matchAll(/^[ \t]*\/\/[#@] sourceMappingURL=(\S+)[ \t]*$/gm)].at(-1);
  if (comment === undefined) return undefined;
  const [, name] = comment;
  const data = /^data:application\/json[^,]*?(;base64)?,(.*)$/.exec(name);
  const base = data ? url : new URL(name, url).href;
  if (!base.startsWith('file:')) return undefined;
  const text = data ? decoded(data) : textOf(base);
  if (text === undefined) return undefined;
  try {
    const map = JSON.parse(text) as ForeignSourceMap;
    const root = map.sourceRoot ? map.sourceRoot.replace(/\/?$/, '/') : '';
    const sources = map.sources.map((each) => new URL(root + (each ?? ''), base).href);
    return { ...map, sourceRoot: null, sources };
  } catch (error) {
    throw new FormatError(`the source map of ${url} cannot be read`, {
      op: 'transform',
      actual: error instanceof Error ? error.message : String(error),
      advice: 'build the file again, or remove the comment with sourceMappingURL',
      cause: error,
    });
  }
}

function decoded([, isBase64, text]: RegExpExecArray): string {
  return isBase64 ? Buffer.from(text, 'base64').toString() : decodeURIComponent(text);
}

/** The text of a file; undefined where there is none, as for the maps of published packages. */
function textOf(url: string): string | undefined {
  try {
    return readFileSync(new URL(url), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
