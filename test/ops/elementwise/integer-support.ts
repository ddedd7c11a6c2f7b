import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundOf } from '../../../accuracy/reference/bounds.js';
import { formats } from '../../../accuracy/reference/formats.js';
import { forms } from '../../../accuracy/reference/forms.js';
import { errorOf, operandsFor, referenceOf } from '../../../accuracy/reference/measure.js';
import { Program, type Value } from '../../../src/ir/program.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../../src/loop/language/visit.js';
import { interpreted } from '../../support/gpu-kernels.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../support/gpu-programs.js';
import { settings } from '../../support/settings.js';
import { elements, vector } from './support.js';

/** Unsigned results of expressions of unsigned arguments, all of them i32. */
export function computed(args: readonly bigint[], make: (args: readonly Expr[]) => readonly Expr[]): readonly bigint[] {
  const buffer = e.buffer('x', 'i32');
  const results = make(args.map((_, k) => e.load(buffer, k)));
  const locals = results.map((result, k) => e.variable(`r${k}`, result.type.scalar));
  const body = e.block(
    ...results.map((result, k) => e.declare(locals[k], result)),
    ...locals.map((local, k) => e.store(buffer, k, local)),
  );
  const memory = new Int32Array(Math.max(args.length, results.length));
  args.forEach((arg, k) => (memory[k] = Number(BigInt.asIntN(32, arg))));
  const [found] = interpreted(e.kernel('fixed', [buffer], body), [memory]);
  return results.map((_, k) => BigInt.asUintN(32, BigInt(found[k])));
} // prettier-ignore

const [float32] = formats;

/** A function of float32 that devices without float64 compute in 32-bit integers. */
export interface IntegerFunction {
  readonly label: string;
  readonly apply: (operands: readonly Value[]) => Value;
  /** Operands beside those of the measurement of all devices: a list for each result. */
  readonly operands: readonly (readonly number[])[];
  /** Greatest error in ulp where it is less than on all devices. */
  readonly bound?: number;
}

function programOf({ apply }: IntegerFunction, arity: number, length: number): Program {
  const program = new Program();
  const operands = Array.from({ length: arity }, (_, k) =>
    program.variable(`x${k}`, { dtype: 'float32', shape: [length] }),
  );
  program.setOutputs([{ name: 'y', value: apply(operands) }]);
  return program;
}

/** Tests that it is within its bound of high-precision values, and needs no arithmetic of 64 bits. */
export function testInIntegers(tried: IntegerFunction): void {
  const { label } = tried;
  const form = forms.find((each) => each.label === label)!;
  const reference = referenceOf(form);
  const bound = Math.min(boundOf(form, float32), tried.bound ?? Infinity);

  test(`${label} in 32-bit integers is within its bound of high-precision values`, async () => {
    const options = { points: settings.isLong ? 20000 : 1500, seed: 5, target: 'interpreter' } as const; // prettier-ignore
    const rows = [...operandsFor(form, float32, reference, options), ...tried.operands];
    const columns = rows[0].map((_, k) => rows.map((row) => row[k]));
    const program = programOf(tried, columns.length, rows.length);
    const [result] = await new ProgramsOnGrid().run(
      program,
      columns.map((column) => vector('float32', column)),
    );
    elements(result).forEach((y, k) => {
      const error = errorOf(form, float32, reference, rows[k], Number(y));
      assert.ok(error <= bound, `${label}(${rows[k].join(', ')}) = ${y} is ${error} ulp off`);
    });
  });

  test(`${label} of float32 needs no arithmetic of 64 bits on a GPU`, () => {
    const [{ length }] = operandsFor(form, float32, reference, { points: 1, seed: 1, target: 'interpreter' }); // prettier-ignore
    for (const { body } of gpuKernelsOf(programOf(tried, length, 5))) {
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
