import { fileURLToPath } from 'node:url';
import { mayHaveDirective } from '../base/directive.js';
import { transform, type SourceType } from '../source/index.js';
import { inputMapOf } from '../source/maps/input-map.js';

/** Kinds of files by the formats that Node gives them; null where Node decides by the code. */
const sourceTypes: ReadonlyMap<string | null, SourceType> = new Map([
  ['module', 'module'],
  ['module-typescript', 'module'],
  ['commonjs', 'commonjs'],
  ['commonjs-typescript', 'commonjs'],
  [null, 'unambiguous'],
]);

/** True if Node may have to convert a file of a format. */
export function isConvertible(url: string, format: string | null): boolean {
  return url.startsWith('file:') && sourceTypes.has(format) && !url.startsWith(home);
}

/** The folder of the sources, or of the package: they mention the directive and have no function with it. */
const home = new URL('../', import.meta.url).href;

/**
 * The code of a file with its functions converted and the map to the original at its end, where Node looks for
 * it; null where nothing has the directive.
 */
export function convertedSource(source: string, url: string, format: string | null): string | null {
  if (!mayHaveDirective(source)) return null;
  const filename = fileURLToPath(url);
  const sourceType = sourceTypes.get(format)!;
  const inputMap = inputMapOf(source, url);
  const result = transform(source, { filename, sourceType, ...(inputMap && { inputMap }) });
  if (result === null) return null;
  const map = inputMap ? result.map : { ...result.map, sources: [url] };
  const encoded = Buffer.from(JSON.stringify(map)).toString('base64');
  return `${result.code}\n//# sourceMappingURL=data:application/json;base64,${encoded}\n`;
}
