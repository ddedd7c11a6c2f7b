import { readFileSync } from 'node:fs';
import { FormatError } from '../../base/errors.js';
import type { ForeignSourceMap } from './source-map.js';

/* Needs Node: `kaon/source` itself runs in browsers, too. */

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
