import { describe } from '../../base/attributes/attribute.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { callable, checkArgument, type OptionRules, textRule, valueRule } from '../../base/attributes/options.js'; // prettier-ignore
import type { DType } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { symbolsOfTypes, undeterminedSymbols } from '../../ir/bind.js';
import { type CallNode, Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { withCarriedSizes } from '../../passes/rewrite/carried-sizes.js';
import { type EngineRun, registerEngine } from '../../runtime/engine/engine.js';
import { StaticGraph } from '../graphs/static-graph.js';

/** Type of an array that a call reads or makes. */
export interface EngineType {
  readonly dtype: DType;
  /** Extents; those that only a run decides are names, or expressions of names, such as `batch`. */
  readonly shape: readonly (number | string)[];
}

/** Operator call of a captured program, as an engine is asked about it. */
export interface EngineCall {
  /** Name of the operator, such as `matmul`. */
  readonly op: string;
  /** Family of the operator, such as `elementwise`, or `contraction` for products and convolutions. */
  readonly family: string;
  /** Attributes of the operator, such as `axis`, with all defaults. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly inputs: readonly EngineType[];
  readonly outputs: readonly EngineType[];
  /** Number of programs inside of the call: bodies of a loop, branches. 0 for anything else. */
  readonly bodies: number;
  /** The user's line, where it is known. */
  readonly source: string | undefined;
  /**
   * The call alone, as a graph: an input for each array that it reads, and, where these leave sizes open, as an axis of
   * `min(2, n)` does, a last one whose shape tells them.
   */
  graph(): StaticGraph;
}

/** External engine that runs sub-graphs of captured programs. */
export interface ExternalBackend {
  readonly name: string;
  /**
   * True for a call that the engine can run. It is asked about each call of a program as it was written, and, where it
   * cannot run that, about the calls in terms of which the operator is written. Asked about a loop or branch, it answers
   * for all that is inside; where it says no, the host runs the loop, and the engine those parts of the body that it
   * supports.
   */
  supports(call: EngineCall): boolean;
  /**
   * Cost of running a call on the engine rather than here, negative where that is a gain, in any unit. Connected calls
   * go to the engine if their costs and `overhead` add up to less than 0. Default: all calls that are supported do.
   */
  cost?(call: EngineCall): number;
  /** Cost of a sub-graph as such, in the unit of `cost`. Default 0. */
  readonly overhead?: number;
  /**
   * Code of a sub-graph, or a promise of it: a function from arrays to arrays, or to a promise of them. Each sub-graph is
   * compiled once; `toOnnx`, `toJSON` and `run` work on it as on any graph.
   */
  compile(graph: StaticGraph): EngineRun | Promise<EngineRun>;
}

const backendRule = valueRule(
  'an object with name, supports and compile',
  (value): value is ExternalBackend => typeof value === 'object' && value !== null,
);

const rules: OptionRules<ExternalBackend> = {
  name: textRule,
  supports: callable,
  cost: callable,
  overhead: valueRule('a finite number', (value): value is number => Number.isFinite(value)),
  compile: callable,
};

/**
 * Registers an external engine by its name, in the place of one that had the name before. `hybridize(f, { backend: name
 * })` then has it run the sub-graphs that it supports. Functions that were hybridized before keep theirs.
 *
 * @throws ArgumentError for a backend without a name, or without the functions that it needs.
 */
export function registerBackend(backend: ExternalBackend): void {
  const op = 'registerBackend';
  checkArgument(op, 'backend', backend, backendRule);
  for (const [part, rule] of Object.entries(rules)) {
    const value: unknown = backend[part as keyof ExternalBackend];
    const isOptional = part === 'cost' || part === 'overhead';
    if (!(isOptional && value === undefined)) checkArgument(op, part, value, rule);
  }
  const { name, overhead = 0 } = backend;
  if (name === 'kaon' || name === 'cpu') {
    throw new ArgumentError('the name is taken', { op, expected: 'another name', actual: name });
  }
  registerEngine({
    name,
    overhead,
    supports: (call, operands) => {
      // What an engine is passed tells it all sizes but those that its results have by its own decision.
      if (call.decides.length > 0) return false;
      const answer: unknown = backend.supports(engineCall(call, operands));
      if (typeof answer === 'boolean') return answer;
      throw wrongAnswer(`${name}.supports`, 'true or false', answer);
    },
    ...(backend.cost !== undefined && {
      cost: (call, operands) => {
        const answer: unknown = backend.cost!(engineCall(call, operands));
        if (typeof answer === 'number' && Number.isFinite(answer)) return answer;
        throw wrongAnswer(`${name}.cost`, 'a finite number', answer);
      },
    }),
    compile: (program) => {
      const run: unknown = backend.compile(new StaticGraph({ program, reads: [], writes: [] }));
      return run instanceof Promise ? run.then((made) => checkedRun(name, made)) : checkedRun(name, run); // prettier-ignore
    },
  });
}

function engineCall(call: CallNode, operands: readonly TensorType[]): EngineCall {
  const { op, attributes, types, regions, source } = call;
  return {
    op: op.name,
    family: declarationOf(op).family,
    attributes,
    inputs: operands.map(engineType),
    outputs: types.map(engineType),
    bodies: regions.length,
    source,
    graph: () => {
      const program = new Program();
      const spoken = new Map([...symbolsOfTypes(types), ...symbolsOfAttributes(op.attributes, attributes)]); // prettier-ignore
      for (const size of undeterminedSymbols(operands, spoken)) program.takeSize(size);
      const inputs = operands.map((type, i) => program.variable(`x${i}`, type));
      const results = program.appendTyped(op, inputs, attributes, types, call);
      program.setOutputs(results.map((value, i) => ({ name: `y${i}`, value })));
      return new StaticGraph({ program: withCarriedSizes(program), reads: [], writes: [] });
    },
  };
}

function engineType({ dtype, shape }: TensorType): EngineType {
  return { dtype, shape: shape.map((dim) => (typeof dim === 'number' ? dim : String(dim))) };
}

function checkedRun(name: string, run: unknown): EngineRun {
  if (typeof run === 'function') return run as EngineRun; // its results are checked at each run
  throw wrongAnswer(`${name}.compile`, 'a function, or a promise of one', run);
}

function wrongAnswer(op: string, expected: string, answer: unknown): ArgumentError {
  return new ArgumentError('the backend answered something else', {
    op,
    expected,
    actual: describe(answer),
  });
}
