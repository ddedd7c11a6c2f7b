import assert from 'node:assert/strict';
import { toModule } from '../../../src/artifact/index.js';
import * as kn from '../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';
import { assertClose } from '../../support/close.js';
import { type Model, Program } from '../../artifact/compiled.js';
import { driver, driverHeader, runner, type Trial, trialOf } from '../../artifact/trials.js';
import { bytesOf, stored } from '../../artifact/elements.js';

/* Graphs of two numbers in the forms that leave this process: saved, as modules, as ONNX models, as C. */

/** The outputs of a run, in the order of the graph's. */
type Runner = (a: number, b: number) => readonly number[];

export const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });

export function feedsOf(graph: kn.StaticGraph, a: number, b: number): Record<string, kn.NDArray> {
  const [first, second] = graph.inputNames;
  return { [first]: scalar(a), [second]: scalar(b) };
}

const runnerOf =
  (graph: kn.StaticGraph): Runner =>
  (a, b) =>
    Object.values(graph.run(feedsOf(graph, a, b))).map((each) => Number(each.item()));

interface Made {
  run(feeds: Readonly<Record<string, Float64Array>>): Readonly<Record<string, { data: ArrayLike<number> }>>; // prettier-ignore
}

let modules = 0;

/** A graph in every form but C, by name. The model leaves checks out. */
export async function formsOf(graph: kn.StaticGraph): Promise<Readonly<Record<string, Runner>>> {
  // A text that was imported before is not run again.
  const text = `${toModule(graph)}\n// ${modules++}`;
  const made = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Made;
  const [first, second] = graph.inputNames;
  return {
    graph: runnerOf(graph),
    saved: runnerOf(kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()))),
    module: (a, b) =>
      Object.values(made.run({ [first]: Float64Array.of(a), [second]: Float64Array.of(b) })).map(
        ({ data }) => data[0],
      ),
    ONNX: runnerOf(fromOnnx(toOnnx(graph, { checks: 'omit' }))),
  };
}

/** Graphs that are compiled as C in one program, and what they compute here. */
export class CompiledGraphs {
  readonly #trials: { readonly trial: Trial; readonly where: string }[] = [];

  /** The number of graphs. */
  get count(): number {
    return this.#trials.length;
  }

  /** @throws UnsupportedError for a graph whose memory has no bound. */
  add(
    graph: kn.StaticGraph,
    inputs: readonly (readonly [number, number])[],
    refused: readonly number[],
    where: string,
  ): void {
    const feeds = inputs.map(([a, b]) => feedsOf(graph, a, b));
    const trial = trialOf(`model_${this.#trials.length}`, { graph, feeds }, { refused });
    this.#trials.push({ trial, where });
  }

  /** Adds a graph; false for one of which nothing bounds the memory, as lists that loops of any length fill. */
  addBounded(...graph: Parameters<CompiledGraphs['add']>): boolean {
    try {
      this.add(...graph);
      return true;
    } catch (error) {
      const isUnbounded = error instanceof kn.UnsupportedError && error.message.startsWith('toC: nothing bounds'); // prettier-ignore
      if (!isUnbounded) throw error;
      return false;
    }
  }

  /** Compiles and runs all; asserts that they write the bits that the graphs compute, and refuse what these do. */
  async check(compiler: string): Promise<void> {
    const program = new Program();
    try {
      for (const { trial } of this.#trials) {
        const model: Model = { name: trial.model, ...trial.files };
        program.add(model);
        program.addSource(`run_${trial.model}.c`, runner(trial));
      }
      program.write('driver.h', driverHeader);
      program.addSource('driver.c', driver(this.#trials.map(({ trial }) => trial.model)));
      const given = this.#trials.flatMap(({ trial: { graph, feeds } }) =>
        feeds.flatMap((feed) => graph.inputNames.map((name) => bytesOf(stored(feed[name]).data))),
      );
      await program.compile(compiler);
      const written = program.run(compiler, Buffer.concat(given));
      let at = 0;
      for (const { trial, where } of this.#trials) {
        for (const bytes of trial.expected.flatMap((each) => each ?? [])) {
          const found = written.subarray(at, (at += bytes.byteLength));
          assert.equal(Buffer.compare(found, bytes), 0, `C of ${where}`);
        }
      }
      assert.equal(at, written.length);
    } finally {
      program.remove();
    }
  }
}

/** Asserts that a run gives numbers, with the program in whatever else it throws. */
export function assertGives(
  run: () => readonly number[],
  expected: readonly number[],
  where: string,
  tolerance: number = 1e-6,
): void {
  let found: readonly number[];
  try {
    found = run();
  } catch (error) {
    throw new Error(where, { cause: error });
  }
  assertClose(found, expected, tolerance, where);
}
