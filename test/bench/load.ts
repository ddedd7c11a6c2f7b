import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkout } from '../support/sources.js';

/** A module of the benchmark, which is plain JavaScript: the caller says what it exports. */
export function benchModule(path: string): Promise<unknown> {
  return import(pathToFileURL(join(checkout, 'bench', path)).href);
}
