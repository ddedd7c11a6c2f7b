// The greatest error of every elementwise function, as a table: npm run accuracy -- functions
// --points=N random arguments of each; --seed=N; --target=wasm|interpreter; --only=NAME,NAME
import { parseArgs } from 'node:util';
import { forms } from './reference/forms.js';
import { formats } from './reference/formats.js';
import { measure } from './reference/measure.js';
import { unmeasured } from './reference/operators.js';
const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', default: 'wasm' },
    only: { type: 'string' },
  },
});
for (const form of forms) {
  if (form.declaration.name in unmeasured) continue;
  if (values.only !== undefined && !values.only.split(',').includes(form.declaration.name))
    continue;
  const cells = formats.map((format) =>
    measure(form, format, {
      points: Number(values.points),
      seed: Number(values.seed),
      target: values.target as 'wasm',
    }),
  );
  console.log(
    form.label,
    ...cells.map((c) => `${c.error.toFixed(2)} at ${c.operands.join(',')}: ${c.result};`),
  );
}
