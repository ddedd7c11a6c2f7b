import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { compilers } from '../../codegen/c/compiler.js';
import { settings } from '../../support/settings.js';
import { converted, original } from '../convert.js';
import { ArrayProgramWriter, type ProgramOptions } from './array-programs.js';
import { assertGives, CompiledGraphs, formsOf, scalar } from './forms.js';
import { type PlainRun, Refusal, runPlainly } from './plain-number.js';

/*
 * Laws 2 and 3 on random programs that leave this process: saved, as modules, as ONNX models and as C they
 * compute what plain numbers compute, and refuse what the program refuses.
 */

type OnArrays = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
  demand: (condition: kn.NDArray | boolean, message: string) => void,
  total: (list: readonly kn.NDArray[]) => kn.NDArray,
) => kn.NDArray;

const stacked = (...all: kn.NDArray[]): kn.NDArray => kn.stack(all);
const total = (list: readonly kn.NDArray[]): kn.NDArray =>
  kn.cumsum(kn.stack(list), 0).sum().add(list.length);

const inputs: readonly (readonly [number, number])[] = [[0.3, -1.2], [2.5, 0.7], [-0.9, 1.9]]; // prettier-ignore

const kinds: Readonly<Record<string, ProgramOptions>> = {
  'in control flow alone': {},
  'that throw and check': { refuses: true },
  'that push rows': { pushes: true },
  'that change objects': { objects: true },
  'with variables that may be null': { absences: true },
  'with functions that are not linear': { curves: true },
};

const count = Math.ceil((settings.programs ?? 20) / Object.keys(kinds).length);
// From here on few programs are enough for some to refuse.
const first = settings.seed ?? 9;
/** One program of so many is compiled as C, which takes longer than all the rest. */
const perCompiled = settings.isLong ? 1 : 4;

/** The message of what a program throws or a check refuses, without what stands around it. */
function refusalIn(error: unknown, where: string): string {
  const [refusal] = /refusal \d+/.exec((error as Error).message) ?? [];
  if (refusal === undefined) throw new Error(where, { cause: error });
  return refusal;
}

/** A run on plain numbers, or what refuses. */
function plainOutcome(
  program: unknown,
  [a, b]: readonly [number, number],
  where: string,
): PlainRun | string {
  // prettier-ignore
  try {
    return runPlainly(program, a, b);
  } catch (error) {
    const isThrown = error instanceof RangeError || error instanceof TypeError;
    if (isThrown || error instanceof Refusal) return refusalIn(error, where);
    throw error;
  }
}

for (const [kind, options] of Object.entries(kinds)) {
  test(`random programs ${kind}, exported`, async (context) => {
    const compiled = new CompiledGraphs();
    let [refusals, unbounded] = [0, 0];
    for (let seed = first; seed < first + count; seed++) {
      const code = new ArrayProgramWriter(seed, options).write();
      const where = `program ${seed} ${kind}:\n${code}\n`;
      const plain = original(code);
      const f = converted(code) as unknown as OnArrays;
      const hybrid = kn.hybridize((a: kn.NDArray, b: kn.NDArray) =>
        f(a, b, stacked, kn.check, total),
      );
      const graph = hybrid.graphFor(scalar(0), scalar(0));
      const { ONNX, ...checking } = await formsOf(graph);
      const refused: number[] = [];
      for (const [k, point] of inputs.entries()) {
        const at = `on ${point}, ${where}`;
        const outcome = plainOutcome(plain, point, at);
        if (typeof outcome === 'string') {
          refusals++;
          refused.push(k);
          for (const [form, run] of Object.entries(checking)) {
            // A module tells the first in the code of several checks that fail (docs/status.md).
            const isTold = (error: unknown): boolean =>
              refusalIn(error, at) === outcome || form === 'module';
            assert.throws(() => run(...point), isTold, `${form} ${at}`);
          }
        } else {
          for (const [form, run] of Object.entries({ ...checking, ONNX })) {
            assertGives(() => run(...point), [outcome.value], `${form} ${at}`);
          }
        }
      }
      if (compilers.length === 0 || seed % perCompiled > 0) continue;
      if (!compiled.addBounded(graph, inputs, refused, where)) unbounded++;
    }
    for (const compiler of compilers) await compiled.check(compiler);
    context.diagnostic(`${compiled.count} as C, ${unbounded} without bound, ${refusals} refused runs`); // prettier-ignore
    if (options.refuses) assert.ok(refusals > count / 6, String(refusals));
  });
}
