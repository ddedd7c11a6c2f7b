import { InternalError } from '../base/errors.js';
import type { Declaration } from './declare/declare.js';
import * as operators from './index.js';

function collect(): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const exported of Object.values(operators)) {
    if (typeof exported !== 'function' || !('declaration' in exported)) continue;
    const declaration = exported.declaration as Declaration;
    if (found.has(declaration.name))
      throw new InternalError(`two operators are named ${declaration.name}`);
    found.set(declaration.name, declaration);
  }
  return found;
}

/** Every operator by name: the exports of the family files, in their order. */
export const registry: ReadonlyMap<string, Declaration> = collect();
