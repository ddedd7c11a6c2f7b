import { toModule } from '../../../src/artifact/index.js';
import * as kn from '../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';
import { stored } from '../../artifact/elements.js';
import { generator } from '../../support/samples.js';

import * as n from './duals.js';
import { Misfit, plain, type Plain } from './plain.js';
import { Undecided } from './plain-flow.js';
import { type Arrays, arrayOf, functions, mainOf, type Main, numbersOf, plainFloats, plainMain } from './running.js'; // prettier-ignore
import type { Value } from './draft.js';
import type { Kind } from './kinds.js';
import { width, Writer } from './writer.js';

/*
 * Values and gradients where the number of rows changes from call to call, and once more of what was exported, for
 * numbers of rows that no trace has seen.
 */

const parameters: readonly Value[] = [
  { name: 'limit', kind: 'int', dims: [], own: 0 },
  { name: 'q', kind: 'bool', dims: [width], own: 0 },
  { name: 's', kind: 'float', dims: [], own: 0 },
  { name: 'w', kind: 'float', dims: [width], own: 0 },
  { name: 'm', kind: 'bool', dims: ['n'], own: 0 },
  { name: 'u', kind: 'float', dims: ['n'], own: 0 },
  { name: 'x', kind: 'float', dims: ['n', width], own: 0 },
];

/** Positions of the parameters that gradients are taken by. */
const smooth = [2, 3, 5, 6];

export interface Sized {
  readonly text: string;
  readonly way: 'hybridize' | 'dynamic' | 'static' | 'deferred' | 'exported';
  readonly hasGradients: boolean;
  readonly rows: readonly number[];
}

function make(random: () => number): Sized {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const way = pick(['hybridize', 'dynamic', 'static', 'deferred', 'exported', 'exported', 'exported'] as const); // prettier-ignore
  const hasGradients = random() > 0.5;
  const rows = Array.from({ length: 5 }, () => pick([2, 1, 0, 3, 5]));
  return { text: new Writer(random).main(parameters), way, hasGradients, rows };
}

function dataOf(seed: number, rows: number, call: number): Plain[] {
  const random = generator(seed * 31 + call);
  const share = [0.6, 0.2, 1][call % 3];
  const mask = (size: number): Plain => plain('bool', [size], Array.from({ length: size }, () => Number(random() < share))); // prettier-ignore
  return [
    plain('int32', [], [call % 4]),
    mask(width),
    plainFloats([], random),
    plainFloats([width], random),
    mask(rows),
    plainFloats([rows], random),
    plainFloats([rows, width], random),
  ];
}

/** The value, then the derivative along each parameter's own direction. */
function expectedOf(
  main: Main<Plain>,
  data: readonly Plain[],
  along: readonly Plain[],
): number[] | null {
  // prettier-ignore
  try {
    const slopes = smooth.map((position, k) => {
      const tag = n.newTag();
      const moved = data.map((one, i) => i === position ? { ...one, data: one.data.map((x, j) => new n.Dual(tag, x, along[k].data[j])) } : one); // prettier-ignore
      return n.valueOf(n.slopeOf(main(...moved).data[0], tag));
    });
    return [n.valueOf(main(...data).data[0]), ...slopes];
  } catch (error) {
    if (error instanceof Undecided) return null;
    throw error;
  }
}

/** What is compared: the value, and gradients along directions. */
function contracted(results: Arrays, along: readonly Plain[]): number[] {
  return results.map((one, k) => {
    const numbers = numbersOf(one);
    if (k === 0) return numbers[0];
    const by = along[k - 1];
    if (one.shape.join() !== by.shape.join()) throw new Error(`gradient ${k} has the shape [${one.shape.join()}], not [${by.shape.join()}]`); // prettier-ignore
    return numbers.reduce((sum, x, i) => sum + x * (by.data[i] as number), 0);
  });
}

type Run = (args: Arrays) => Arrays;

/** What is captured, of any number of arguments. */
interface Graphed {
  graphFor(...args: Arrays): kn.StaticGraph;
}

/** A function of arrays in the forms that are tried, by name. */
async function formsOf(
  { text, way, hasGradients }: Sized,
  first: () => Arrays,
): Promise<Readonly<Record<string, Run>>> {
  // prettier-ignore
  const main = mainOf<kn.NDArray>(text, functions);
  const body = (...args: Arrays): Arrays =>
    hasGradients ? [main(...args), ...kn.grad(main, smooth)(...args)] : [main(...args)];
  if (way === 'deferred') return { deferred: (args) => kn.deferredCompute(() => [...body(...args)]) }; // prettier-ignore
  if (way === 'static') {
    const captured = kn.staticGraph(body);
    return { static: (args) => captured(...args) };
  }
  const dynamic = [null, null, null, null, ['n'], ['n'], ['n', null]];
  const options: kn.HybridizeOptions = way === 'hybridize' ? {} : { dynamic };
  const captured = kn.hybridize(body, options);
  if (way !== 'exported') return { [way]: (args) => captured(...args) };
  const graph = (captured as unknown as Graphed).graphFor(...first());
  const saved = kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()));
  const forms: Record<string, Run> = { graph: runGraph(graph), saved: runGraph(saved), module: await moduleRun(graph) }; // prettier-ignore
  const onnx = unlessUnsupported(() => fromOnnx(toOnnx(graph)));
  return onnx === null ? forms : { ...forms, onnx: runGraph(onnx) };
}

function unlessUnsupported<R>(fn: () => R): R | null {
  try {
    return fn();
  } catch (error) {
    if (error instanceof kn.UnsupportedError) return null;
    throw error;
  }
}

function runGraph(graph: kn.StaticGraph): Run {
  return (args) => {
    const results = graph.run(Object.fromEntries(graph.inputNames.map((name) => [name, args[positionOf(name)]]))); // prettier-ignore
    return graph.outputNames.map((name) => results[name]);
  };
}

/** The position of an input among the arguments: `input5`. */
function positionOf(name: string): number {
  return Number(/\d+$/.exec(name)![0]);
}

let modules = 0;

interface Module {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: object): Readonly<Record<string, { data: ArrayLike<number>; shape: readonly number[] }>>; // prettier-ignore
}

async function moduleRun(graph: kn.StaticGraph): Promise<Run> {
  const text = `${toModule(graph)}\n// sizes ${modules++}`;
  const made = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Module;
  return (args) => {
    const results = made.run(Object.fromEntries(made.inputNames.map((name) => [name, stored(args[positionOf(name)])]))); // prettier-ignore
    return made.outputNames.map((name) => {
      const { data, shape } = results[name];
      return kn.array(Array.from(data), { dtype: 'float64' }).reshape([...shape]);
    });
  };
}

async function differenceOf(
  program: Sized,
  seed: number,
  onCompared: () => void,
): Promise<string | null> {
  // prettier-ignore
  const { text, hasGradients, rows } = program;
  const reference = plainMain(text);
  let forms: Readonly<Record<string, Run>> | null = null;
  for (const [call, count] of rows.entries()) {
    const data = dataOf(seed, count, call);
    const random = generator(seed * 7 + call);
    const along = smooth.map((position) => plainFloats(data[position].shape, random));
    let expected: number[] | null;
    try {
      expected = expectedOf(reference, data, along);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      return null;
    }
    if (expected === null || expected.some((x) => !(Math.abs(x) < 1e5))) continue;
    if (!hasGradients) expected = expected.slice(0, 1);
    let form = '';
    try {
      forms ??= await formsOf(program, () => dataOf(seed, 3, call).map(arrayOf));
      for (const [name, run] of Object.entries(forms)) {
        form = name;
        const found = contracted(run(data.map(arrayOf)), along);
        onCompared();
        const scale = Math.max(1, ...expected.map(Math.abs));
        const wrong = expected.findIndex((x, k) => !(Math.abs(x - found[k]) <= 1e-9 * scale));
        if (wrong >= 0) return `${form}, ${count} rows, call ${call}: results are ${found.join()}, not ${expected.join()}`; // prettier-ignore
      }
    } catch (error) {
      // docs/status.md: a softmax of nothing, and some loops without an iteration, are refused in models of ONNX.
      if (form === 'onnx' && /max: there is no element|without an iteration/.test(String(error))) return null; // prettier-ignore
      return `${form}, ${count} rows, call ${call}: ${error instanceof Error ? error.stack : String(error)}`; // prettier-ignore
    }
  }
  return null;
}

export const sizes: Kind<Sized> = { make, differenceOf };
