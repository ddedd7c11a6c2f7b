import type { DimExpr } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import { UnsupportedError } from '../../base/errors.js';
import { hostConstant } from '../../ir/host.js';
import type { Program, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { add } from '../../ops/index.js';
import type { Effects } from '../core/capture.js';
import type { HostNumber } from '../core/host-number.js';
import { type CapturedDraws, drawsFrom } from '../dispatch/generator.js';
import type { GradientMark, GradReq } from '../capture/gradient-use.js';
import { collectOrigins, type Origin } from '../core/history.js';
import { type Demand, layOut, type Named } from './layout.js';
import type { NDArray } from '../core/ndarray.js';

/** An array that a graph reads or writes: an outer one, or the argument at an index. */
export type Holder = NDArray | number;

/** A read or write of a graph besides its arguments and results. */
export type ExternalRef =
  /** The elements of an array, at the time of the run. */
  | { readonly kind: 'array'; readonly of: Holder }
  /** A number of the host. */
  | { readonly kind: 'host'; readonly of: HostNumber }
  /** The gradient that an array keeps; with `attach`, one that is newly attached. */
  | { readonly kind: 'gradient'; readonly of: Holder; readonly attach?: GradReq | undefined }
  /**
   * The state of the random generator; for a write, with the number of draws, null when only a run decides
   * it.
   */
  | { readonly kind: 'random'; readonly draws: number | null };

/** Effect of code on the gradient of an array. */
export interface HolderMark {
  readonly of: Holder;
  readonly mark: GradientMark;
}

/** A program, and the meaning of its inputs and outputs. */
export interface GraphParts {
  readonly program: Program;
  /** The leading inputs are arguments; these are the others, in order. */
  readonly reads: readonly ExternalRef[];
  /** The leading outputs are returned; these are the others, in order. */
  readonly writes: readonly ExternalRef[];
  /** The arrays that take part in its recordings; when unknown, all that it reads. */
  readonly touched?: readonly Holder[];
  /** Marks of gradients, for users that use each once. */
  readonly marks?: readonly HolderMark[];
  /** The nodes of a backward pass in the code. */
  readonly backward?: ReadonlySet<NodeId>;
  /** True when the code records by itself, so that its results have gradients. */
  readonly isRecording?: boolean;
}

export interface GraphRequest {
  /** See `LayoutRequest`. */
  readonly sizes?: readonly DimExpr[];
  readonly inputs: readonly (Named & { readonly type?: TensorType })[];
  readonly outputs: readonly Named[];
  readonly writes: readonly { readonly target: ExternalRef; readonly array: NDArray }[];
  readonly touched?: readonly Holder[];
  readonly marks?: readonly HolderMark[];
  /** See `LayoutRequest`. */
  readonly kept?: readonly Origin[];
  readonly stopsUnrecorded?: boolean;
  readonly demanded?: readonly Demand[];
  /** The draws that the code has made, whether or not anything depends on them; looked for where absent. */
  readonly draws?: CapturedDraws | null;
  follow(origin: Origin): boolean;
  /** The outside of an outer array, and the name of its input; throws where there can be none. */
  outside(
    array: NDArray,
    reader: Origin | null,
  ): { readonly name: string; readonly source: ExternalRef };
}

/** Writes of captured code, as outputs of its graph. */
export function writesOf(
  { updates, gradients, attached }: Pick<Effects, 'updates' | 'gradients' | 'attached'>,
  holder: (array: NDArray) => Holder,
): GraphRequest['writes'] {
  return [
    ...[...updates].map(([of, array]) => ({
      target: { kind: 'array', of: holder(of) } as const,
      array,
    })),
    ...[...gradients].map(([of, array]) => ({
      target: { kind: 'gradient', of: holder(of), attach: attached.get(of) } as const,
      array,
    })),
  ];
}

/** Lays out captured code as a graph with explicit reads and writes. */
export function layOutGraph({
  sizes = [],
  inputs,
  outputs,
  writes,
  touched,
  marks = [],
  kept = [],
  stopsUnrecorded = false,
  draws,
  demanded = [],
  follow,
  outside,
}: GraphRequest): GraphParts {
  const reads: ExternalRef[] = [];
  const targets: ExternalRef[] = writes.map(({ target }) => target);
  const random = new RandomState();
  const drawn =
    draws === undefined
      ? drawsBehind([...outputs, ...writes].map(({ array }) => array), follow) // prettier-ignore
      : draws === null
        ? []
        : [draws];
  const { program, values, backward } = layOut({
    sizes,
    inputs,
    outputs: [
      ...outputs.map((output) => ({ ...output, flows: true })),
      ...writes.map(({ array }, i) => ({ name: `state_${i}`, array, flows: false })),
    ],
    follow,
    // Only operators that draw by themselves know how much they have drawn.
    kept: [...kept, ...drawn.flatMap(({ tail }) => tail?.state.origin ?? [])],
    stopsUnrecorded,
    demanded,
    leaf(array, reader, into) {
      if (array.isConstant && array.elements !== null) {
        return into.constant({
          type: { dtype: array.dtype, shape: array.shape },
          data: array.elements.host,
        });
      }
      const own = drawsFrom(array);
      if (own !== undefined) return random.join(into, own, reads);
      const { name, source } = outside(array, reader);
      reads.push(source);
      return into.variable(into.freshName(name), array.type);
    },
  });
  if (draws !== undefined && draws !== null) random.join(program, draws, reads);
  const state = random.after(values);
  if (state !== null) {
    targets.push({ kind: 'random', draws: random.draws });
    program.setOutputs([...program.outputs, { name: freeOutput(program, 'random'), value: state }]);
  }
  return {
    program,
    reads,
    writes: targets,
    backward,
    isRecording: stopsUnrecorded,
    ...(touched !== undefined && { touched }),
    ...(marks.length > 0 && { marks }),
  };
}

/** The draws of the captures that some arrays come from. */
function drawsBehind(
  heads: readonly NDArray[],
  follow: (origin: Origin) => boolean,
): readonly CapturedDraws[] {
  const found = new Set<CapturedDraws>();
  for (const { operands } of collectOrigins(heads, (_, origin) => follow(origin))) {
    for (const operand of operands) {
      const own = drawsFrom(operand);
      if (own !== undefined) found.add(own);
    }
  }
  return [...found];
}

/** The random state of a graph; several captures in it draw in sequence. */
class RandomState {
  #input: Value | null = null;
  readonly #joined: Map<NDArray, Value> = new Map();
  #last: CapturedDraws | null = null;
  /** The known number of draws. */
  #draws = 0;

  /** Number of draws; null when only a run decides it. */
  get draws(): number | null {
    return this.#last?.tail ? null : this.#draws;
  }

  /** The initial state of a capture's draws. */
  join(program: Program, draws: CapturedDraws, reads: ExternalRef[]): Value {
    const known = this.#joined.get(draws.base);
    if (known !== undefined) return known;
    if (this.#last?.tail) {
      throw new UnsupportedError('random loops were deferred separately', {
        op: 'exportGraph',
        expected: 'one deferredCompute around all that draws in loops and branches',
        actual: 'several',
      });
    }
    if (this.#input === null) {
      this.#input = program.variable(program.freshName('random'), { dtype: 'int64', shape: [2] });
      reads.push({ kind: 'random', draws: 0 });
    }
    const state = advancedBy(this.#input, this.#draws);
    this.#draws += draws.count;
    this.#joined.set(draws.base, state);
    this.#last = draws;
    return state;
  }

  /** The final state; null without random draws. */
  after(values: ReadonlyMap<NDArray, Value>): Value | null {
    if (this.#input === null) return null;
    const tail = this.#last?.tail;
    if (!tail) return advancedBy(this.#input, this.#draws);
    return advancedBy(values.get(tail.state)!, tail.count);
  }
}

function advancedBy(state: Value, count: number): Value {
  if (count === 0) return state;
  const steps = hostConstant(BigInt64Array.of(0n, BigInt(count)), 'int64');
  return add<Value>(state, state.program.constant(steps));
}

function freeOutput(program: Program, hint: string): string {
  const taken = new Set(program.outputs.map(({ name }) => name));
  let name = hint;
  for (let count = 2; taken.has(name); count++) name = `${hint}_${count}`;
  return name;
}
