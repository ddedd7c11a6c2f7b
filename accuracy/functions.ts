// The greatest error of every elementwise function of floats, against references in high precision.
// npm run accuracy -- functions [--points=2000] [--seed=1] [--target=wasm|interpreter] [--only=NAME,NAME]
// Prints the table of decision 5; exits with 1 where an error is beyond its bound.
import { parseArgs } from 'node:util';
import { boundOf } from './reference/bounds.js';
import { formats } from './reference/formats.js';
import { type Form, forms } from './reference/forms.js';
import { type Measured, measure } from './reference/measure.js';
import { unmeasured } from './reference/operators.js';
import { tableOf } from './reference/table.js';

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', default: 'wasm' },
    only: { type: 'string' },
  },
});
const { target } = values;
if (target !== 'wasm' && target !== 'interpreter') throw new Error(`no such target: ${target}`);
const options = { points: Number(values.points), seed: Number(values.seed), target } as const;
const wanted = values.only?.split(',');

const found = new Map<Form, readonly Measured[]>();
let failures = 0;
for (const form of forms) {
  const { name } = form.declaration;
  if (name in unmeasured || (wanted !== undefined && !wanted.includes(name))) continue;
  const cells = formats.map((format) => measure(form, format, options));
  found.set(form, cells);
  formats.forEach((format, i) => {
    const { error, operands, result } = cells[i];
    const bound = boundOf(form, format);
    if (error <= bound) return;
    failures++;
    const call = `${form.label} of ${format.dtype} at ${operands.join(', ')}`;
    console.error(`${call}: ${result} is ${error.toFixed(2)} ulp off, not ${bound} at most`);
  });
}
console.log(tableOf(found));
process.exitCode = failures === 0 ? 0 : 1;
