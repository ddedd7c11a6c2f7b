import type { Dim } from '../../base/dim.js';
import { bindTypes } from '../../ir/bind.js';
import { type CallNode, namedInputs, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Group } from '../fuse.js';
import type { Span } from '../places.js';
import { instantiate } from '../transform.js';
import { controlOf } from './control.js';

/** How a program is divided into groups, and in which order they run. */
export type Arrange = (program: Program) => readonly Group[];

/** A scheduled program with the programs inside of it, all in one sequence of steps. */
export interface Block {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** The regions of the groups that have some, in the symbols of the whole. */
  readonly regions: ReadonlyMap<Group, readonly Block[]>;
}

/** The blocks of a program, and which steps each of their groups takes. */
export function blockOf(
  program: Program,
  groups: readonly Group[],
  arrange: Arrange,
): { readonly block: Block; readonly spanOf: (group: Group) => Span } {
  const spans = new Map<Group, Span>();
  let step = 0;
  const enter = (inner: Program, order: readonly Group[]): Block => {
    const regions = new Map<Group, readonly Block[]>();
    for (const group of order) {
      const first = step++;
      const call = controlCall(inner, group);
      if (call !== null) {
        const types = operandTypes(inner, group, call);
        regions.set(
          group,
          call.regions.map((region, k) => {
            const placed = inSurroundings(region, types(k));
            return enter(placed, arrange(placed));
          }),
        );
        step++; // what ends the loop
      }
      spans.set(group, { first, last: step - 1 });
    }
    return { program: inner, groups: order, regions };
  };
  return { block: enter(program, groups), spanOf: (group) => spans.get(group)! };
}

/** The loop or branch that a group is; null for a group of kernels. */
export function controlCall(program: Program, group: Group): CallNode | null {
  const node = program.node(group.anchors[0]) as CallNode;
  return controlOf(node) === null ? null : node;
}

/** The types of what each region is called with. */
function operandTypes(
  program: Program,
  group: Group,
  call: CallNode,
): (region: number) => readonly TensorType[] {
  const types = program.operands(group.anchors[0]).map(({ type }) => type);
  const control = controlOf(call)!;
  if (control.kind === 'branch') return () => types.slice(1);
  if (control.kind === 'while') return () => types;
  const { data, counted } = control.loop(call.attributes);
  const given = counted ? types.slice(0, -1) : types;
  return () =>
    given.map(({ dtype, shape }, k) => ({ dtype, shape: k < data ? shape.slice(1) : shape }));
}

/** A region with the symbols of what it is called with in the place of its own. */
function inSurroundings(region: Program, types: readonly TensorType[]): Program {
  const dims: Map<string, Dim> = bindTypes(namedInputs(region), types);
  if (isUnchanged(region, types)) return region;
  const placed = new Program();
  const inputs = namedInputs(region).map(({ name }, k): Value => placed.variable(name, types[k]));
  const outputs = instantiate(region, placed, inputs, dims);
  placed.setOutputs(region.outputs.map(({ name }, k) => ({ name, value: outputs[k] })));
  return placed;
}

function isUnchanged({ inputs }: Program, types: readonly TensorType[]): boolean {
  return inputs.every(({ type }, k) =>
    type.shape.every((dim, axis) => String(dim) === String(types[k].shape[axis])),
  );
}
