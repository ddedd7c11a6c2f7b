import { type CallNode, namedInputs, Program, type Value } from '../../../ir/program.js';
import { copy } from '../../../ops/structure/copy.js';
import { isExtents } from '../../rewrite/measure.js';
import { isImmediate } from '../../groups/places.js';
import { instantiate, throughRegions, transform } from '../../rewrite/transform.js';
import { viewed } from '../../rewrite/views.js';
import { controlOf } from './control.js';

/**
 * Inserts copies for the memory constraints of loops and branches; the copies are ordinary kernels and fuse
 * with their producers:
 *
 * - the initial state of a loop lies in memory that the loop may overwrite;
 * - operands of loops and branches lie in memory, constants too, and so do the sources of sizes;
 * - each output of a region is made in the region, by a kernel with no other output of it;
 * - a loop result in one of two alternating buffers is copied where it is an output.
 */
export function prepareControl(program: Program): Program {
  if (!hasControl(program)) return program;
  return throughRegions(program, (inner, region) =>
    withOwnOutputs(withOwnOperands(inner, region), inner !== program),
  );
}

function hasControl(program: Program): boolean {
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'call' && (controlOf(node) !== null || isExtents(node))) return true;
  }
  return false;
}

function withOwnOperands(program: Program, region: (inner: Program) => Program): Program {
  const uses = countUses(program);
  return transform(
    program,
    ({ node, id, operands, into }) => {
      if (node.kind !== 'call') return undefined;
      const [first, end] = statesOf(node);
      const old = program.operands(id);
      const wrapped = operands.map((operand, k) => {
        const isState = k >= first && k < end;
        return isState ? owned(program, old[k], operand, uses) : inMemory(into, operand);
      });
      if (wrapped.every((operand, k) => operand === operands[k])) return undefined;
      return into.appendNode(node, wrapped);
    },
    { region, wanted: (call) => controlOf(call) !== null || isExtents(call) },
  );
}

/** The operand range of a loop's states: from, to. */
function statesOf(call: CallNode): readonly [number, number] {
  const control = controlOf(call);
  if (control === null || control.kind === 'branch') return [0, 0];
  if (control.kind === 'while') return [0, control.loop(call.attributes).states];
  const { data, states } = control.loop(call.attributes);
  return [data, data + states];
}

/** Number of reads of each value, as itself, as a view or as an output. */
function countUses(program: Program): ReadonlyMap<Value, number> {
  const uses = new Map<Value, number>();
  const count = (value: Value): void => {
    const base = viewed(program, value);
    uses.set(base, (uses.get(base) ?? 0) + 1);
  };
  for (const id of program.graph.nodes()) program.operands(id).forEach(count);
  for (const { value } of program.outputs) count(value);
  return uses;
}

/** A value that nobody else reads, made by a kernel. */
function owned(
  program: Program,
  old: Value,
  value: Value,
  uses: ReadonlyMap<Value, number>,
): Value {
  const node = program.node(old.node);
  const isOwn = viewed(program, old) === old && uses.get(old) === 1 && node.kind === 'call';
  return isOwn && controlOf(node) === null ? value : copy<Value>(value);
}

function inMemory(into: Program, value: Value): Value {
  const node = into.node(viewed(into, value).node);
  return node.kind === 'constant' && isImmediate(node.data) ? copy<Value>(value) : value;
}

function withOwnOutputs(program: Program, isRegion: boolean): Program {
  const taken = new Set<Value>();
  const mustCopy = program.outputs.map(({ value }) => {
    const base = viewed(program, value);
    const node = program.node(base.node);
    if (node.kind !== 'call') return isRegion;
    if (isFinalState(node, base.port)) return true;
    const again = taken.has(base);
    taken.add(base);
    return isRegion && again;
  });
  if (!mustCopy.includes(true)) return program;
  return Program.from(program, (into) => {
    const inputs = namedInputs(program).map(({ name, type }) => into.variable(name, type));
    const values = instantiate(program, into, inputs);
    into.setOutputs(
      program.outputs.map(({ name }, k) => ({
        name,
        value: mustCopy[k] ? copy<Value>(values[k]) : values[k],
      })),
    );
  });
}

/** True when a result is a final state that may lie in one of two buffers. */
function isFinalState(node: CallNode, port: number): boolean {
  const control = controlOf(node);
  if (control === null || control.kind === 'branch') return false;
  const [first, end] = statesOf(node);
  const count = end - first;
  const outputs = node.regions[node.regions.length - 1].outputs.length - count;
  return port >= outputs && port < outputs + count;
}
