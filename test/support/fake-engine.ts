import type { EngineArray, EngineCall, EngineRun, ExternalBackend, StaticGraph } from '../../src/index.js'; // prettier-ignore
import { compile } from '../../src/runtime/compile/compile.js';
import { Storage } from '../../src/runtime/memory/storage.js';

export interface FakeEngineOptions {
  /** Default: everything but loops and branches. */
  readonly supports?: (call: EngineCall) => boolean;
  readonly cost?: (call: EngineCall) => number;
  readonly overhead?: number;
  /** Compiles and answers later. Default false. */
  readonly isLate?: boolean;
}

/**
 * An engine for tests, which runs each call of a sub-graph by itself, on the interpreter of the loop IR, and counts
 * what it is given.
 */
export class FakeEngine implements ExternalBackend {
  readonly name: string;
  readonly supports: (call: EngineCall) => boolean;
  readonly cost?: (call: EngineCall) => number;
  readonly overhead?: number;
  readonly #isLate: boolean;
  /** The graphs that were compiled. */
  readonly graphs: StaticGraph[] = [];
  runs = 0;

  constructor(name: string, options: FakeEngineOptions = {}) {
    const { supports = ({ bodies }) => bodies === 0, cost, overhead, isLate = false } = options;
    this.name = name;
    this.supports = supports;
    if (cost !== undefined) this.cost = cost;
    if (overhead !== undefined) this.overhead = overhead;
    this.#isLate = isLate;
  }

  compile(graph: StaticGraph): EngineRun | Promise<EngineRun> {
    this.graphs.push(graph);
    const executable = compile(graph.program, { target: 'interpreter', fuse: false });
    const run = (inputs: readonly EngineArray[]): readonly EngineArray[] => {
      this.runs++;
      const operands = inputs.map(({ dtype, shape, data }) => ({
        storage: new Storage(dtype, data),
        shape,
      }));
      return executable.run(operands).map(({ storage, shape }) => ({
        dtype: storage.dtype,
        shape,
        data: storage.copy(),
      }));
    };
    if (!this.#isLate) return run;
    return later((inputs: readonly EngineArray[]) => later(run(inputs)));
  }

  /** The operators of the graphs, by graph. */
  operators(): readonly (readonly string[])[] {
    return this.graphs.map(({ program }) =>
      [...program.graph.nodes()].flatMap((id) => {
        const node = program.node(id);
        return node.kind === 'call' ? [node.op.name] : [];
      }),
    );
  }
}

async function later<T>(answer: T): Promise<T> {
  await new Promise((resolve) => setImmediate(resolve));
  return answer;
}
