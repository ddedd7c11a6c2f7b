import { symbolsOf } from '../../base/dim/index.js';
import type { Program, Value } from '../../ir/program.js';
import { dimsOf } from '../../ir/requirement.js';

/** The results that reveal data-dependent sizes with requirements. */
export function sizesRequired({ requirements, decidedSizes }: Program): ReadonlySet<Value> {
  const found = new Set<Value>();
  if (decidedSizes.size === 0) return found;
  for (const dim of requirements.flatMap(dimsOf)) {
    for (const name of symbolsOf(dim)) {
      const value = decidedSizes.get(name);
      if (value !== undefined) found.add(value);
    }
  }
  return found;
}
