import type { Dim } from '../../base/dim/index.js';
import { isStatic, sameShape, substituteDim, symbolsOf } from '../../base/dim/index.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { Program, sameType, type Value } from '../../ir/program.js';
import { dimsOf, requireAt, type Requirement, requireOrKeep } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import { reshape } from '../../ops/index.js';
import { stopGradient } from '../../ops/structure/identity.js';
import { collectOrigins, type Origin } from '../core/history.js';
import type { NDArray } from '../core/ndarray.js';

export interface Named {
  readonly name: string;
  readonly array: NDArray;
}

export interface OutputRequest extends Named {
  /** Whether gradients may enter there, and so must be kept from what was not recorded. */
  readonly flows: boolean;
}

export interface LayoutRequest {
  /** Arrays that become inputs under their names, whatever made them. Their types may be given anew. */
  readonly inputs: readonly (Named & { readonly type?: TensorType })[];
  readonly outputs: readonly OutputRequest[];
  /** What an array that no captured call made becomes; `program` is the one being built. */
  leaf(array: NDArray, reader: Origin | null, program: Program): Value;
  /** Whether to look behind an array. */
  follow(origin: Origin): boolean;
  /** Calls that belong to the program though no output needs them. */
  readonly kept?: readonly Origin[];
  /** Whether gradients of outputs that no recording made stop there. */
  readonly stopsUnrecorded?: boolean;
  /**
   * What captured calls require of sizes, in the names of the capture, also calls that the program leaves
   * out. Of sizes that only these make nothing is required.
   */
  readonly demanded?: readonly Requirement[];
}

export interface Layout {
  readonly program: Program;
  readonly values: ReadonlyMap<NDArray, Value>;
  /** The nodes that a backward pass has made. */
  readonly backward: ReadonlySet<NodeId>;
}

/**
 * The calls behind `outputs` as a program, up to `inputs` and to leaves. Types are inferred again as it
 * is built, so symbols get names that depend on nothing but the program, and equal code gives equal text.
 */
export function layOut({
  inputs,
  outputs,
  leaf,
  follow,
  kept = [],
  stopsUnrecorded = false,
  demanded = [],
}: LayoutRequest): Layout {
  const program = new Program();
  const values = new Map<NDArray, Value>();
  const renamed = new Map<string, Dim>();
  const names = new Map<string, Dim>();
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

  for (const origin of origins) {
    for (const carrier of origin.sizedBy) plainValueOf(carrier, origin);
    const operands = origin.operands.map((operand) => valueOf(operand, origin));
    const attributes =
      renamed.size === 0
        ? origin.attributes
        : mapAttributeDims(origin.declaration.attributes, origin.attributes, (dim) =>
            substituteDim(dim, renamed),
          );
    const results =
      names.size === 0 && areCapturedTypes(origin, operands)
        ? program.appendTyped(origin.declaration, operands, attributes, typesOf(origin), origin)
        : program.append(origin.declaration, operands, attributes, {
            regions: origin.regions,
            source: origin.source,
          });
    if (origin.isBackward && results.length > 0) backward.add(results[0].node);
    origin.results.forEach((array, i) => {
      if (values.has(array)) return;
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
  program.requireFirst(inNamesOf(demanded, names));
  return { program, values, backward };
}

/**
 * Whether a call has operands of the types that it was captured with, all numbers, and results of numbers: then
 * inference has nothing to add, neither names of sizes nor what is required of them.
 */
function areCapturedTypes(origin: Origin, operands: readonly Value[]): boolean {
  if (origin.regions.length > 0) return false;
  for (let i = 0; i < operands.length; i++) {
    const { type } = operands[i];
    const captured = origin.operands[i].type;
    if (type !== captured && !sameType(type, captured)) return false;
    if (!type.shape.every(isStatic)) return false;
  }
  return origin.results.every(({ type }) => type.shape.every(isStatic));
}

/** The types of the results; interned ones of computed arrays become plain, since programs hold nothing else. */
function typesOf({ results }: Origin): readonly TensorType[] {
  return results.map(({ type }) =>
    'id' in type ? { dtype: type.dtype, shape: type.shape } : type,
  );
}

/**
 * What is required, in the program's own names. The names of a capture may be those of other sizes there,
 * so nothing is left as it is called.
 */
function inNamesOf(
  demanded: readonly Requirement[],
  names: ReadonlyMap<string, Dim>,
): readonly Requirement[] {
  const kept: Requirement[] = [];
  const keep = requireOrKeep((requirement) => kept.push(requirement));
  for (const requirement of demanded) {
    const symbols = dimsOf(requirement).flatMap((dim) => [...symbolsOf(dim)]);
    if (symbols.every((name) => names.has(name))) requireAt(requirement, names, keep);
  }
  return kept;
}

/**
 * A size that what the program is given has, and that a call in it finds once more, is one size: one mask
 * selects before side-effect code and behind it.
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

/** Notes what a capture's symbols are in the program, wherever an extent is just one. */
function noteSymbols(from: TensorType, to: TensorType, names: Map<string, Dim>): void {
  from.shape.forEach((dim, axis) => {
    if (typeof dim === 'number') return;
    const key = String(dim);
    if (!names.has(key) && [...symbolsOf(dim)].join() === key) names.set(key, to.shape[axis]);
  });
}

/** Where a size is one symbol on both sides, the program's name for it is the one from now on. */
function noteNames(from: TensorType, to: TensorType, renamed: Map<string, Dim>): void {
  from.shape.forEach((dim, axis) => {
    if (typeof dim !== 'number' && String(dim) !== String(to.shape[axis])) {
      renamed.set(String(dim), to.shape[axis]);
    }
  });
}
