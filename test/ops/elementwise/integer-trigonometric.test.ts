import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundOf } from '../../../accuracy/reference/bounds.js';
import { formats } from '../../../accuracy/reference/formats.js';
import { forms } from '../../../accuracy/reference/forms.js';
import { errorOf, operandsFor, referenceOf } from '../../../accuracy/reference/measure.js';
import { Program } from '../../../src/ir/program.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../../src/loop/language/visit.js';
import { cos, sin, sinc, tan } from '../../../src/ops/elementwise/index.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../support/gpu-programs.js';
import { generator } from '../../support/samples.js';
import { settings } from '../../support/settings.js';
import { elements, vector } from './support.js';

/* Trigonometric functions of float32 on devices that emulate float64. */

const functions = { sin, cos, tan, sinc };

/** Bounds that are narrower than those of all devices: half an ulp and one unit of 32 digits, of which an ulp has 256. */
const narrower: Readonly<Record<string, number>> = { sin: 0.506, cos: 0.506 };
const [float32] = formats;

function programOf(name: keyof typeof functions, length: number): Program {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [length] });
  program.setOutputs([{ name: 'y', value: functions[name](x) }]);
  return program;
}

const next = (x: number, steps: number): number => {
  const bits = new Int32Array(new Float32Array([x]).buffer);
  bits[0] += steps;
  return new Float32Array(bits.buffer)[0];
};

/** Numbers around multiples of pi / 4 and of halves, of all sizes, and the f32 that is nearest to a multiple of pi / 2. */
function adversaries(): readonly number[] {
  const random = generator(8);
  const near: number[] = [1e10, 2 ** 127, 16367173 * 2 ** 72, 2 ** -12, 2 ** -13, 2 ** 23, 2 ** 24];
  for (let k = 1; k <= 24; k++) near.push((k * Math.PI) / 4, k / 2, k / 4);
  for (let k = 0; k < 200; k++) {
    const turns = Math.floor(2 ** (random() * 22));
    near.push((turns * Math.PI) / 2, turns + 0.5, turns / 4);
  }
  const found = near.flatMap((x) => [-1, 0, 1].map((steps) => next(Math.fround(x), steps)));
  return [...found, ...found.map((x) => -x)];
}

for (const name of ['sin', 'cos', 'tan', 'sinc'] as const) {
  test(`${name} in 32-bit integers is within its bound of high-precision values`, async () => {
    const form = forms.find(({ label }) => label === name)!;
    const reference = referenceOf(form)!;
    const options = { points: settings.isLong ? 20000 : 1500, seed: 5, target: 'interpreter' } as const; // prettier-ignore
    const xs = operandsFor(form, float32, reference, options).map(([x]) => x);
    xs.push(...adversaries());
    const random = generator(6);
    for (let k = 0; k < options.points; k++) xs.push(Math.fround((random() - 0.5) * 8));
    const program = programOf(name, xs.length);
    const [result] = await new ProgramsOnGrid().run(program, [vector('float32', xs)]);
    elements(result).forEach((y, k) => {
      const error = errorOf(form, float32, reference, [xs[k]], Number(y));
      const bound = Math.min(boundOf(form, float32), narrower[name] ?? Infinity);
      assert.ok(error <= bound, `${name}(${xs[k]}) is ${error} ulp off`);
    });
  });

  test(`${name} of float32 needs no arithmetic of 64 bits on a GPU`, () => {
    for (const { body } of gpuKernelsOf(programOf(name, 5))) {
      const wide: Expr[] = [];
      visitStmts(body, (stmt) =>
        visitExprs(ownExprs(stmt), (expr) => {
          if (expr.type.scalar === 'f64' || expr.type.scalar === 'i64') wide.push(expr);
        }),
      );
      assert.deepEqual(wide, []);
    }
  });
}
