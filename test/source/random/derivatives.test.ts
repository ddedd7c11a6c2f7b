import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { compilers } from '../../codegen/c/compiler.js';
import { settings } from '../../support/settings.js';
import { converted, original } from '../convert.js';
import { ArrayProgramWriter } from './array-programs.js';
import { CompiledGraphs, formsOf, scalar } from './forms.js';
import { type PlainRun, runPlainly } from './plain-number.js';

/*
 * First and second derivatives of random programs: eager, of captured code, captured as a whole and exported, as C
 * too, against finite differences of the same program on plain numbers.
 */

type OnArrays = (a: kn.NDArray, b: kn.NDArray) => kn.NDArray;
type Converted = (
  a: kn.NDArray,
  b: kn.NDArray,
  rows: (...all: kn.NDArray[]) => kn.NDArray,
  demand: undefined,
  total: (list: readonly kn.NDArray[]) => kn.NDArray,
) => kn.NDArray;

const stacked = (...all: kn.NDArray[]): kn.NDArray => kn.stack(all);
const total = (list: readonly kn.NDArray[]): kn.NDArray =>
  kn.cumsum(kn.stack(list), 0).sum().add(list.length);

const inputs: readonly (readonly [number, number])[] = [[0.3, -1.2], [2.5, 0.7], [-0.9, 1.9]]; // prettier-ignore

const count = Math.ceil((settings.programs ?? 6) / 2);
/** The first programs are the longest of many. */
const first = settings.seed ?? 5;
/** One program of so many is compiled as C, which takes longer than all the rest. */
const perCompiled = settings.isLong ? 1 : 3;

/** Value, gradient and matrix of second derivatives of a function, row by row. */
function derivatives(f: OnArrays, a: kn.NDArray, b: kn.NDArray): readonly kn.NDArray[] {
  const gradient = kn.grad(f, [0, 1]);
  const [ofA, ofB] = [0, 1].map((i) => kn.grad((x: kn.NDArray, y: kn.NDArray) => gradient(x, y)[i], [0, 1])); // prettier-ignore
  return [f(a, b), ...gradient(a, b), ...ofA(a, b), ...ofB(a, b)];
}

/** A derivative by finite differences, and how far off it may be. */
interface Difference {
  readonly value: number;
  readonly margin: number;
}

/** Steps are powers of two, so that points are exact up to the rounding of their sum. */
const step = 2 ** -9;

/** Extrapolates from the differences with a step and half of it, the error of which is of second order. */
function extrapolated(difference: (h: number) => number): Difference {
  const [coarse, fine] = [difference(step), difference(step / 2)];
  return { value: (4 * fine - coarse) / 3, margin: Math.abs(fine - coarse) };
}

/** The derivatives by finite differences; null where a test of the program comes out otherwise nearby. */
function differences(
  run: (a: number, b: number) => PlainRun,
  a: number,
  b: number,
): readonly Difference[] | null {
  // prettier-ignore
  const middle = run(a, b);
  let isSmooth = true;
  const at = (i: number, j: number): number => {
    const { value, path } = run(a + i, b + j);
    isSmooth &&= path === middle.path;
    return value;
  };
  const twice = (h: number, i: number, j: number): number =>
    (at(h * i, h * j) - 2 * middle.value + at(-h * i, -h * j)) / h ** 2;
  const once = (h: number, i: number, j: number): number =>
    (at(h * i, h * j) - at(-h * i, -h * j)) / (2 * h);
  const mixed = extrapolated((h) => (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h ** 2));
  const found = [
    { value: middle.value, margin: 0 },
    extrapolated((h) => once(h, 1, 0)),
    extrapolated((h) => once(h, 0, 1)),
    extrapolated((h) => twice(h, 1, 0)),
    mixed,
    mixed,
    extrapolated((h) => twice(h, 0, 1)),
  ];
  return isSmooth ? found : null;
}

for (const pushes of [false, true]) {
  test(`derivatives of random programs${pushes ? ' that push rows and change objects' : ''}`, async (context) => {
    let [compared, kinks, rough, unbounded] = [0, 0, 0, 0];
    const compiled = new CompiledGraphs();
    for (let seed = first; seed < first + count; seed++) {
      const code = new ArrayProgramWriter(seed, { curves: true, pushes, objects: pushes }).write();
      const plain = original(code);
      const f = converted(code) as unknown as Converted;
      // The bowl makes every derivative depend on what it is taken by, whatever the program returns.
      const g: OnArrays = (a, b) =>
        f(a, b, stacked, undefined, total).add(a.mul(a).add(a.mul(b)).add(b.mul(b)).mul(0.5));
      const run = (a: number, b: number): PlainRun => {
        const { value, path } = runPlainly(plain, a, b);
        return { value: value + (a * a + a * b + b * b) / 2, path };
      };
      const hybrid = kn.hybridize(g);
      const whole = kn.hybridize((a: kn.NDArray, b: kn.NDArray) => derivatives(g, a, b));
      const graph = whole.graphFor(scalar(0), scalar(0));
      const forms = await formsOf(graph);
      const points: (readonly [number, number])[] = [];
      for (const [a, b] of inputs) {
        const where = `program ${seed} on ${a}, ${b}:\n${code}\n`;
        const expected = differences(run, a, b);
        if (expected === null) {
          kinks++;
          continue;
        }
        const scale = Math.max(1, ...expected.map(({ value }) => Math.abs(value)));
        if (expected.some(({ margin }) => margin > 1e-3 * scale)) {
          rough++;
          continue;
        }
        compared++;
        const agree = (form: string, results: () => readonly number[]): void => {
          let found: readonly number[];
          try {
            found = results();
          } catch (error) {
            throw new Error(`${form}, ${where}`, { cause: error });
          }
          found.forEach((value, i) => {
            const off = Math.abs(value - expected[i].value);
            assert.ok(off <= expected[i].margin + 1e-6 * scale, `${form}, derivative ${i}: ${value}, not ${expected[i].value}, ${where}`); // prettier-ignore
          });
          assert.equal(found.length, expected.length);
        };
        const numbers = (all: readonly kn.NDArray[]): number[] => all.map((each) => Number(each.item())); // prettier-ignore
        agree('eager', () => numbers(derivatives(g, scalar(a), scalar(b))));
        agree('of captured code', () => numbers(derivatives(hybrid, scalar(a), scalar(b))));
        agree('captured', () => numbers(whole(scalar(a), scalar(b))));
        for (const [form, results] of Object.entries(forms)) agree(form, () => results(a, b));
        points.push([a, b]);
      }
      // C writes the bits of the graph, which have been compared.
      if (compilers.length === 0 || seed % perCompiled > 0 || points.length === 0) continue;
      if (!compiled.addBounded(graph, points, [], `program ${seed}:\n${code}`)) unbounded++;
    }
    for (const compiler of compilers) await compiled.check(compiler);
    context.diagnostic(`${compared} compared, ${compiled.count} as C, ${unbounded} without bound, ${kinks} near kinks, ${rough} too rough`); // prettier-ignore
    assert.ok(compilers.length === 0 || pushes || compiled.count > 0, 'none as C');
    assert.ok(compared > count, String(compared));
  });
}
