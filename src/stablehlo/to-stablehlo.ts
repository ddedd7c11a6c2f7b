import { type Feeds, feedsRule } from '../artifact/check.js';
import { checkOptions } from '../base/attributes/options.js';
import { isStatic } from '../base/dim/index.js';
import type { DType } from '../base/dtype.js';
import { exportModule, refuseDataSizes } from '../formats/stablehlo/export.js';
import { lowered } from '../front/graphs/lowered.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import { arrayType } from '../front/core/array-type.js';
import { arrayOf, NDArray } from '../front/core/ndarray.js';
import { hasShapeOnly } from '../front/devices/shape-only.js';
import { namedInputs } from '../ir/program.js';
import type { Shape } from '../ir/types.js';
import { layOutStates } from '../onnx/state.js';
import { checkText } from './check.js';

export type { Feeds };

export interface ToStableHloOptions {
  /** Inputs to validate on: the text must compute the same as the graph before it is returned. It is read slowly. */
  readonly check?: Feeds;
}

/** An argument of the function `main`. */
export interface StableHloInput<Size extends number | string = number | string> {
  readonly name: string;
  readonly dtype: DType;
  /** Sizes; symbolic ones as text, such as `batch`. */
  readonly shape: readonly Size[];
  /**
   * `input`: fed by the caller. `array`: a parameter or other state, whose first value is in `state`. `random`: the
   * state of the random generator, likewise. `number`: a number of the host, such as the learning rate, likewise.
   */
  readonly kind: 'input' | 'array' | 'random' | 'number';
  /** The output with its value for the next run; null when it does not change. */
  readonly next: string | null;
}

/** A result of the function `main`. */
export interface StableHloOutput<Size extends number | string = number | string> {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Size[];
}

/** Arguments and results in order: what a program that runs the text has to know. */
export interface StableHloMeta<Size extends number | string = number | string> {
  readonly version: 1;
  readonly inputs: readonly StableHloInput<Size>[];
  readonly outputs: readonly StableHloOutput<Size>[];
}

/** A graph as StableHLO. */
export interface StableHlo {
  /** One module with the function `main`. */
  readonly text: string;
  /** Values of the arguments that the caller does not feed, by name: those of now. Arrays of shapes alone have none. */
  readonly state: Readonly<Record<string, NDArray>>;
  readonly meta: StableHloMeta;
}

/**
 * A graph as the text of a StableHLO module, which XLA compiles: under JAX on one device or on many. It is written
 * behind Kaon's own passes, and random numbers are the same bit for bit. Parameters and other state are arguments; for
 * one that changes, called `w`, the result `w.next` is its next value. Gradients that arrays keep are not returned.
 *
 * Axes that the graph has symbolic sizes for are written as `?`, and computed from the sizes of the inputs. XLA needs
 * numbers: StableHLO's own passes put them in, as `kaon-player` does for the shapes of each call.
 *
 * Recurrent layers with lengths, in graphs of `graphFor`, are written as all steps of all examples with a mask, so that
 * every size is known.
 *
 * @throws UnsupportedError for sizes that only the data decides, and for operators that need known ones, naming the
 * operator, its line and the static form; InternalError when a check fails.
 */
export function toStableHlo(graph: StaticGraph, options: ToStableHloOptions = {}): StableHlo {
  checkGraph(op, graph);
  checkOptions<ToStableHloOptions>(op, options, { check: feedsRule });
  const { program, reads, writes } = graph.staticForm.parts;
  const { reads: stored, outputs } = layOutStates(op, graph.staticForm.parts);
  const returned = program.outputs.length - writes.length;
  const kept = outputs.flatMap((_, k) => (writes[k - returned]?.kind === 'gradient' ? [] : [k]));
  const passed = lowered(program);
  refuseDataSizes(program, passed);
  const text = exportModule(passed, kept);
  const named = namedInputs(program);
  const given = named.length - reads.length;
  const meta: StableHloMeta = {
    version: 1,
    inputs: named.map(({ name, type }, i): StableHloInput => {
      const read = reads[i - given];
      const kind = read === undefined ? 'input' : read.kind === 'random' ? 'random' : read.kind === 'host' ? 'number' : 'array'; // prettier-ignore
      return { name, ...described(type), kind, next: stored[i - given]?.next ?? null };
    }),
    outputs: kept.map((k) => ({ name: outputs[k], ...described(program.outputs[k].value.type) })),
  };
  const state = Object.fromEntries(
    stored.flatMap((each, i) => {
      const read = reads[i];
      if (read.kind === 'array' && read.of instanceof NDArray && hasShapeOnly(read.of)) return [];
      const { type, data } = each.value;
      // Copied: runs of the graph write into the elements.
      return [[each.name, arrayOf(arrayType(type.dtype, type.shape), data.slice())]];
    }),
  );
  const result = { text, state, meta };
  if (options.check !== undefined) checkText(graph.staticForm, result, options.check);
  return result;
}

const op = 'toStableHlo';

/** A type as data. */
function described({ dtype, shape }: { readonly dtype: DType; readonly shape: Shape }): {
  readonly dtype: DType;
  readonly shape: readonly (number | string)[];
} {
  return { dtype, shape: shape.map((dim) => (isStatic(dim) ? dim : String(dim))) };
}
