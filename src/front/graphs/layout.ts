import type { Dim, DimExpr } from '../../base/dim/index.js';
import { isStatic, sameShape, substituteDim } from '../../base/dim/index.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { symbolsTold } from '../../ir/bind.js';
import { Program, type Value } from '../../ir/program.js';
import { requireAt, type Requirement, requireOrKeep, speaksOnlyOf } from '../../ir/requirement.js';
import { sameType, type TensorType } from '../../ir/types.js';
import { reshape } from '../../ops/index.js';
import { stopGradient } from '../../ops/structure/identity.js';
import { collectOrigins, type Origin } from '../core/history.js';
import type { NDArray } from '../core/ndarray.js';

export interface Named {
  readonly name: string;
  readonly array: NDArray;
}

export interface OutputRequest extends Named {
  /** True when gradients may enter there, so they must be stopped at unrecorded values. */
  readonly flows: boolean;
}

/** A requirement of a captured call, and the serial of the call. */
export interface Demand {
  readonly serial: number;
  readonly requirement: Requirement;
}

export interface LayoutRequest {
  /** Sizes that the program is passed. */
  readonly sizes?: readonly DimExpr[];
  /** Arrays that become named inputs, regardless of their history. Their types may be overridden. */
  readonly inputs: readonly (Named & { readonly type?: TensorType })[];
  readonly outputs: readonly OutputRequest[];
  /** Conversion of an array without a captured call; `program` is the one being built. */
  leaf(array: NDArray, reader: Origin | null, program: Program): Value;
  /** True to include the call of an array. */
  follow(origin: Origin): boolean;
  /** Calls that belong to the program though no output needs them. */
  readonly kept?: readonly Origin[];
  /** Stop gradients at outputs of calls that were not recorded. */
  readonly stopsUnrecorded?: boolean;
  /**
   * Requirements of captured calls, in the symbols of the capture, omitted calls included. Requirements on
   * sizes that only omitted calls make are dropped.
   */
  readonly demanded?: readonly Demand[];
}

export interface ProgramLayout {
  readonly program: Program;
  readonly values: ReadonlyMap<NDArray, Value>;
  /** The nodes of a backward pass. */
  readonly backward: ReadonlySet<NodeId>;
}

/**
 * The calls between `inputs`, leaves and `outputs` as a program. Types are inferred again as it is built, so
 * names of symbols depend only on the program, and equal code gives equal text.
 */
export function layOut({
  sizes = [],
  inputs,
  outputs,
  leaf,
  follow,
  kept = [],
  stopsUnrecorded = false,
  demanded = [],
}: LayoutRequest): ProgramLayout {
  const program = new Program();
  const values = new Map<NDArray, Value>();
  const renamed = new Map<string, Dim>();
  const names = new Map<string, Dim>();
  for (const size of sizes) {
    program.takeSize(size);
    names.set(size.key, size);
  }
  for (const { name, array, type } of inputs) {
    if (values.has(array)) continue;
    const value = program.variable(program.freshName(name), type ?? array.type);
    values.set(array, value);
    noteSymbols(array.type, value.type, names);
  }
  const isInput = new Set(inputs.map(({ array }) => array));
  const stops = new Map<NDArray, Value>();
  const plainValueOf = (array: NDArray, reader: Origin | null): Value => {
    let value = values.get(array);
    if (value === undefined) {
      values.set(array, (value = leaf(array, reader, program)));
      noteSymbols(array.type, value.type, names);
    }
    return value;
  };
  const valueOf = (array: NDArray, reader: Origin | null): Value => {
    const value = plainValueOf(array, reader);
    if (!mustStop(array, reader)) return value;
    let stop = stops.get(array);
    if (stop === undefined) {
      [stop] = program.append(stopGradient.declaration, [value]);
      stops.set(array, stop);
    }
    return stop;
  };
  const origins = collectOrigins(
    [...outputs.map(({ array }) => array), ...kept.flatMap(({ results }) => results)],
    (array, origin) => !values.has(array) && follow(origin),
  );
  const mustStop = (array: NDArray, reader: Origin | null): boolean => {
    const { origin } = array;
    if (origin === null || origin.capture === null || isInput.has(array)) return false;
    if (reader === null && stopsUnrecorded && origin.session === null) return true;
    return origin.isPaused && reader?.isPaused !== true;
  };
  const backward = new Set<NodeId>();

  const demands = new Demands(demanded, names);
  for (const origin of origins) {
    demands.addTo(program, origin.serial);
    for (const carrier of origin.sizedBy) plainValueOf(carrier, origin);
    const operands = origin.operands.map((operand) => valueOf(operand, origin));
    const attributes =
      renamed.size === 0
        ? origin.attributes
        : mapAttributeDims(origin.declaration.attributes, origin.attributes, (dim) =>
            substituteDim(dim, renamed),
          );
    const isKnown = names.size === 0 && areCapturedTypes(origin, operands);
    const results = isKnown
      ? program.appendTyped(origin.declaration, operands, attributes, typesOf(origin), origin)
      : program.append(origin.declaration, operands, attributes, {
          regions: origin.regions,
          source: origin.source,
        });
    if (origin.isBackward && results.length > 0) backward.add(results[0].node);
    origin.results.forEach((array, i) => {
      if (values.has(array)) return;
      if (isKnown) {
        values.set(array, results[i]);
        return;
      }
      const captured = origin.captured?.[i] ?? array.type;
      const value = withKnownSizes(results[i], captured, names);
      values.set(array, value);
      noteNames(captured, value.type, renamed);
      noteSymbols(captured, value.type, names);
    });
  }
  program.setOutputs(
    outputs.map(({ name, array, flows }) => ({
      name,
      value: flows ? valueOf(array, null) : plainValueOf(array, null),
    })),
  );
  demands.addTo(program, Infinity);
  return { program, values, backward };
}

/**
 * Tests that a call has operands of the types that it was captured with, and that these and the results have known
 * sizes. Inference would add neither names of sizes nor requirements then.
 */
function areCapturedTypes(origin: Origin, operands: readonly Value[]): boolean {
  if (origin.regions.length > 0) return false;
  // Arrays of deferred code have been computed, maybe with sizes that data of other code decided.
  if (origin.capture !== null && origin.capture.kind !== 'trace') return false;
  for (let i = 0; i < operands.length; i++) {
    const { type } = operands[i];
    const captured = origin.operands[i].type;
    if (type !== captured && !sameType(type, captured)) return false;
    if (!type.shape.every(isStatic)) return false;
  }
  // Sizes of computed arrays have become numbers, which another run need not have.
  const types = origin.captured ?? origin.results.map(({ type }) => type);
  return types.every(({ shape }) => shape.every(isStatic));
}

/** The types of the results; interned ones of computed arrays become plain, since programs hold nothing else. */
function typesOf({ results }: Origin): readonly TensorType[] {
  return results.map(({ type }) =>
    'id' in type ? { dtype: type.dtype, shape: type.shape } : type,
  );
}

/** Requirements of captured calls that still have to become checks of a program. */
class Demands {
  #pending: readonly Demand[];
  readonly #names: ReadonlyMap<string, Dim>;

  /** `names` maps symbols of the captures to dimensions of the program; it grows as calls are added. */
  constructor(demanded: readonly Demand[], names: ReadonlyMap<string, Dim>) {
    this.#pending = demanded;
    this.#names = names;
  }

  /**
   * Adds the checks of calls up to a serial whose sizes the program knows by now. Requirements on sizes that it
   * does not know stay: the names of a capture may be those of other sizes there.
   */
  addTo(program: Program, serial: number): void {
    const isDue = ({ serial: from, requirement }: Demand): boolean =>
      from <= serial && speaksOnlyOf(requirement, this.#names);
    const due = this.#pending.filter(isDue);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((demand) => !due.includes(demand));
    const keep = requireOrKeep((requirement) => program.require(requirement));
    for (const { requirement } of due) requireAt(requirement, this.#names, keep);
  }
}

/**
 * Unifies a size of an input with the same size found again by a call, such as by selecting with the same
 * mask before and after side-effect code.
 */
function withKnownSizes(
  value: Value,
  captured: TensorType,
  names: ReadonlyMap<string, Dim>,
): Value {
  const { shape } = value.type;
  const known = shape.map((dim, axis) =>
    isStatic(dim) ? dim : (names.get(String(captured.shape[axis])) ?? dim),
  );
  return sameShape(shape, known) ? value : reshape(value, known);
}

/** Records the program's dimensions for a capture's symbols. */
function noteSymbols(from: TensorType, to: TensorType, names: Map<string, Dim>): void {
  for (const [name, dim] of symbolsTold(from.shape, to.shape)) {
    if (!names.has(name)) names.set(name, dim);
  }
}

/** Renames a capture's symbols where the program has others. */
function noteNames(from: TensorType, to: TensorType, renamed: Map<string, Dim>): void {
  for (const [name, dim] of symbolsTold(from.shape, to.shape)) {
    if (String(dim) !== name) renamed.set(name, dim);
  }
}
