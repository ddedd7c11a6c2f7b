import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inputMapOf } from '../../src/source/maps/input-map.js';
import { transform } from '../../src/source/index.js';

/**
 * Imports a compiled module whose functions have the directive `'use graph'`, converted. The converted file
 * lies beside the compiled one, which its imports need.
 */
export async function importConverted(url: URL): Promise<unknown> {
  const code = readFileSync(url, 'utf8');
  const runtime = new URL('../../src/front/converted/index.js', import.meta.url);
  const folder = fileURLToPath(new URL('.', url));
  const inputMap = inputMapOf(code, url.href);
  const result = transform(code, {
    filename: fileURLToPath(url),
    runtime: relative(folder, fileURLToPath(runtime)).replaceAll('\\', '/'),
    ...(inputMap && { inputMap }),
  });
  if (result === null) throw new Error(`nothing in ${url.href} is converted`);
  const path = fileURLToPath(url).replace(/\.js$/, '.converted.mjs');
  const map = Buffer.from(JSON.stringify(result.map)).toString('base64');
  writeFileSync(path, `${result.code}//# sourceMappingURL=data:application/json;base64,${map}\n`);
  return import(pathToFileURL(path).href);
}
