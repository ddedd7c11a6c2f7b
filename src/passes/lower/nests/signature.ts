import type { Dim } from '../../../base/dim/index.js';
import type { CallLabels } from '../../../ir/call-labels.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { Group } from '../../groups/group.js';
import { isImmediate } from '../../groups/places.js';
import { isView } from '../../rewrite/views.js';
import type { ValueLocations } from './scope.js';

/** The same for groups that lower to the same kernel. */
export interface KernelSignature {
  /** Equal for groups that differ only in the locations of their operands. */
  readonly key: string;
  /** Equal for groups that differ in `sizes`, too. */
  readonly pattern: string;
  /** The static sizes of more than one element in the types of `values`, in order. */
  readonly sizes: readonly number[];
  /** The operands and results of the group's calls, and views between them, in the order of use. */
  readonly values: readonly Value[];
  /** Buffers in the order of use. */
  readonly places: readonly number[];
}

/** Signatures of the groups of a program. */
export class KernelSignatures {
  readonly #program: Program;
  readonly #placement: ValueLocations;
  readonly #labels: CallLabels;
  /** Layers have types in common, which are one object where sizes were inferred. */
  readonly #types: Map<TensorType, TypePattern> = new Map();

  /** Signatures of several programs are comparable if they share `labels`. */
  constructor(program: Program, placement: ValueLocations, labels: CallLabels) {
    this.#program = program;
    this.#placement = placement;
    this.#labels = labels;
  }

  /** `keeps` distinguishes kernels that keep data from those that do not. */
  of(group: Group, keeps: string = ''): KernelSignature {
    const places: number[] = [];
    const placeNumber = (place: number): number => {
      const known = places.indexOf(place);
      return known >= 0 ? known : places.push(place) - 1;
    };
    const numbers = new Map<Value, number>();
    const values: Value[] = [];
    const sizes: number[] = [];
    const lines: string[] = [];
    const add = (value: Value): string => {
      numbers.set(value, values.push(value) - 1);
      const type = this.#type(value.type);
      for (let i = 0; i < type.sizes.length; i++) sizes.push(type.sizes[i]);
      return type.text;
    };
    const refer = (value: Value): string => {
      const number = numbers.get(value);
      if (number !== undefined) return String(number);
      const type = add(value);
      const node = this.#program.node(value.node);
      if (node.kind === 'constant' && isImmediate(node.data)) {
        return `${type}=${Object.is(node.data.data[0], -0) ? '-0' : String(node.data.data[0])}`;
      }
      if (isView(this.#program, value.node)) {
        return `${type}<${refer(this.#program.operands(value.node)[0])}`;
      }
      return `${type}@${placeNumber(this.#placement.placeOf(value)!)}`;
    };
    for (const id of group.members) {
      const call = this.#program.node(id) as CallNode;
      const operands = this.#program.operands(id).map(refer);
      const types = this.#program.results(id).map(add);
      lines.push(`${this.#labels.of(call)}(${operands.join()})${types.join()}`);
    }
    for (const id of group.anchors) lines.push(String(numbers.get(this.#program.results(id)[0])));
    for (const value of group.writes) {
      lines.push(`${numbers.get(value)}>${placeNumber(this.#placement.placeOf(value)!)}`);
    }
    lines.push(keeps);
    const pattern = lines.join('\n');
    return { key: `${pattern}\n${sizes.join()}`, pattern, sizes, values, places };
  }

  #type(type: TensorType): TypePattern {
    let pattern = this.#types.get(type);
    if (pattern === undefined) this.#types.set(type, (pattern = patternOf(type)));
    return pattern;
  }
}

/** A type whose static sizes of more than one element stand apart. */
interface TypePattern {
  readonly text: string;
  readonly sizes: readonly number[];
}

function patternOf({ dtype, shape }: TensorType): TypePattern {
  const dims = shape.map((dim) => (isSize(dim) ? '#' : String(dim)));
  return { text: `${dtype}[${dims.join()}]`, sizes: shape.filter(isSize) };
}

function isSize(dim: Dim): dim is number {
  return typeof dim === 'number' && dim > 1;
}

/** A type with other dimensions, taken from `next`, in the place of the sizes that stand apart in a signature. */
export function withDimensions({ dtype, shape }: TensorType, next: () => Dim): TensorType {
  return { dtype, shape: shape.map((dim) => (isSize(dim) ? next() : dim)) };
}
