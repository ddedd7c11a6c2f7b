import type { Bounds, Dim } from '../../../base/dim/index.js';
import { GraphError } from '../../../base/errors.js';
import { bindProgram, givenSizes, symbolsOfShape, symbolsOfTypes } from '../../../ir/bind.js';
import { type CallNode, namedInputs, Program, type Value } from '../../../ir/program.js';
import { symbolsOfCall } from '../../../ir/size-sources.js';
import type { TensorType } from '../../../ir/types.js';
import { verifyMade } from '../../../ir/verify.js';
import type { Group } from '../../groups/group.js';
import type { StepRange } from '../../groups/places.js';
import { sizesPassedBy } from '../../../ops/declare/facets.js';
import { isExtents } from '../../rewrite/measure.js';
import { instantiate } from '../../rewrite/transform.js';
import { controlOf } from './control.js';

/** Partition of a program into groups, in execution order. */
type Arrange = (program: Program) => readonly Group[];

/** A scheduled program with its nested programs, in one sequence of steps. */
export interface ScheduledBlock {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** The regions of groups that have some, in the symbols of the whole. */
  readonly regions: ReadonlyMap<Group, readonly ScheduledBlock[]>;
}

/** The blocks of a program, and the steps of each of their groups. */
export function blockOf(
  program: Program,
  groups: readonly Group[],
  arrange: Arrange,
): { readonly block: ScheduledBlock; readonly spanOf: (group: Group) => StepRange } {
  const spans = new Map<Group, StepRange>();
  let step = 0;
  // One `main` binds the sizes of the program and of all regions, so their names must be unique.
  const rename = (name: string, bounds: Bounds): Dim => program.freshDim(name, bounds);
  const enter = (inner: Program, order: readonly Group[]): ScheduledBlock => {
    const regions = new Map<Group, readonly ScheduledBlock[]>();
    for (const group of order) {
      const first = step++;
      const call = controlCall(inner, group);
      if (call !== null) {
        const types = operandTypes(inner, group, call);
        regions.set(
          group,
          call.regions.map((region, k) => {
            const placed = inSurroundings(region, types(k), sizesPassedBy(call), rename);
            return enter(placed, arrange(placed));
          }),
        );
        step++; // what ends the loop
      }
      spans.set(group, { first, last: step - 1 });
    }
    return { program: inner, groups: order, regions };
  };
  const block = enter(program, groups);
  const given = givenSizes(program);
  verifyMade('block', () => verifySizes(block, new Set(given.keys()), given, new Set()));
  return { block, spanOf: (group) => spans.get(group)! };
}

/**
 * Checks that blocks speak of sizes that the code around them knows, and that sizes which they decide are no others:
 * `known` are those around a block, `given` those that it is given and may find again, as backward passes do, `decided`
 * those of all blocks so far.
 */
function verifySizes(
  { program, regions }: ScheduledBlock,
  known: ReadonlySet<string>,
  given: { has(name: string): boolean },
  decided: Set<string>,
): void {
  const op = 'verify';
  for (const name of program.decidedSizes.keys()) {
    if (given.has(name)) continue;
    if (known.has(name) || decided.has(name)) {
      throw new GraphError(`two sizes of a program and its blocks have the name ${name}`, { op });
    }
    decided.add(name);
  }
  const own = new Set([...known, ...program.decidedSizes.keys()]);
  for (const [group, blocks] of regions) {
    const passed = symbolsOfShape(sizesPassedBy(controlCall(program, group)!));
    for (const block of blocks) {
      for (const name of symbolsOfProgram(block.program)) {
        if (own.has(name) || block.program.decidedSizes.has(name)) continue;
        throw new GraphError(`dimension ${name} is not known in a block`, { op });
      }
      verifySizes(block, own, new Map([...passed, ...givenSizes(block.program)]), decided);
    }
  }
}

function symbolsOfProgram(program: Program): ReadonlySet<string> {
  const names = new Set(givenSizes(program).keys());
  for (const [, call] of program.calls()) for (const name of symbolsOfCall(call)) names.add(name);
  return names;
}

/** The loop or branch of a group; null for an ordinary one. */
export function controlCall(program: Program, group: Group): CallNode | null {
  const node = program.node(group.anchors[0]) as CallNode;
  return controlOf(node) === null ? null : node;
}

/** True when a group makes sizes from data. */
export function makesSizes(program: Program, { anchors: [id] }: Group): boolean {
  return isExtents(program.node(id) as CallNode);
}

/** The operand types of each region. */
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

/** A region with its symbols replaced by those of its operands. */
function inSurroundings(
  region: Program,
  types: readonly TensorType[],
  sizes: readonly Dim[],
  rename: (name: string, bounds: Bounds) => Dim,
): Program {
  const own = region.decidedSizes;
  if (own.size + sizes.length === 0 && isUnchanged(region, types)) return region;
  const dims = bindProgram<Dim>(region, types, sizes);
  for (const id of new Set([...own.values()].map(({ node }) => node))) {
    for (const [name, bounds] of symbolsOfTypes(region.results(id).map(({ type }) => type))) {
      if (own.has(name)) dims.set(name, rename(name, bounds));
    }
  }
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
