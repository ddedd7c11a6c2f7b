import type { NodeId } from '../../../graph/graph.js';
import type { CallLabels } from '../../../ir/call-labels.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import { typeToString } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import type { Group } from '../../groups/group.js';
import { isImmediate } from '../../groups/places.js';
import { isView } from '../../rewrite/views.js';
import type { ValueLocations } from './scope.js';

/** Key of groups that lower to the same kernel, and their buffers in the order of use. */
export interface KernelSignature {
  readonly key: string;
  readonly places: readonly number[];
}

/** Signatures of groups: equal for groups that differ only in the locations of their operands. */
export class KernelSignatures {
  readonly #program: Program;
  readonly #placement: ValueLocations;
  readonly #labels: CallLabels;
  /** Layers have types in common, which are one object where sizes were inferred. */
  readonly #types: Map<TensorType, string> = new Map();

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
    const numbers = new Map<NodeId, number>();
    const lines: string[] = [];
    const refer = (value: Value): string => {
      const number = numbers.get(value.node);
      if (number !== undefined) return `${number}.${value.port}`;
      const type = this.#type(value.type);
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
      numbers.set(id, numbers.size);
      const types = call.types.map((type) => this.#type(type)).join();
      lines.push(`${this.#labels.of(call)}(${operands.join()})${types}`);
    }
    for (const id of group.anchors) lines.push(String(numbers.get(id)));
    for (const value of group.writes) {
      const place = placeNumber(this.#placement.placeOf(value)!);
      lines.push(`${numbers.get(value.node)}.${value.port}>${place}`);
    }
    lines.push(keeps);
    return { key: lines.join('\n'), places };
  }

  #type(type: TensorType): string {
    let text = this.#types.get(type);
    if (text === undefined) this.#types.set(type, (text = typeToString(type)));
    return text;
  }
}
