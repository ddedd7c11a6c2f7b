import { type Dim, symbol } from '../../base/dim/index.js';
import { givenSizes, substituteType } from '../../ir/bind.js';
import { namedInputs, Program } from '../../ir/program.js';
import { programRanges } from '../../ir/formats/text.js';
import { instantiate } from '../rewrite/transform.js';

/**
 * A region specialized to one call of it, where its symbols are bound to `dims`: static ones become numbers,
 * and those of equal size one symbol. The region itself where there are none.
 */
export function specialized(region: Program, dims: ReadonlyMap<string, Dim>): Program {
  const changed = new Map<string, Dim>();
  const ranges = programRanges(region);
  const first = new Map<string, string>();
  for (const [name, dim] of dims) {
    if (typeof dim === 'number') changed.set(name, dim);
    else {
      const known = first.get(dim.key);
      if (known === undefined) first.set(dim.key, name);
      else changed.set(name, symbol(known, ranges.get(known)));
    }
  }
  if (changed.size === 0) return region;
  for (const [name, bounds] of givenSizes(region)) {
    if (!changed.has(name)) changed.set(name, symbol(name, bounds));
  }
  return Program.from(region, (into) => {
    const inputs = namedInputs(region).map(({ name, type }) =>
      into.variable(name, substituteType(type, changed)),
    );
    const values = instantiate(region, into, inputs, changed);
    into.setOutputs(region.outputs.map(({ name }, k) => ({ name, value: values[k] })));
  });
}
