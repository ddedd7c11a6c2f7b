import { elementCount } from '../../base/dim/index.js';
import { bytesOf, type DType } from '../../base/dtype.js';
import { DeviceError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Value } from '../../ir/program.js';
import { isHostRun } from '../../passes/host/islands/host-run.js';
import { padRows } from '../../passes/host/islands/padded-rows.js';
import type { CallPlacement } from '../../passes/host/partition.js';
import { controlOf } from '../../passes/lower/main/control.js';
import { expandFor } from '../../passes/simplify/expand.js';
import { narrowPositions } from '../../passes/simplify/narrow.js';
import type { Backend } from './backend.js';
import { mostRemembered } from './queue/residency.js';

/** A call that a device cannot run, and the dtype that it lacks; null where the backend refuses the call as such. */
export interface LackedCall {
  readonly call: CallNode;
  readonly dtype: DType | null;
}

/** The calls of a program that run on the CPU because a device lacks them, those inside of loops and branches too. */
export function lackedCalls(program: Program, backend: Backend): readonly LackedCall[] {
  const found: LackedCall[] = [];
  for (const [id, call] of program.calls()) {
    const inside = call.regions.flatMap((region) => lackedCalls(region, backend));
    found.push(...inside);
    // A loop whose body is told of needs no mention of its own.
    if (inside.length === 0) {
      const lacked = lack(program, call, id, backend);
      if (lacked !== null) found.push(lacked);
    }
  }
  return found;
}

/**
 * Placement of a program's calls where a device runs it: what the device lacks runs on the CPU. Loops and branches in
 * which there is such a call are run by the host, so that the rest of their bodies runs on the device.
 */
export function placementOn(program: Program, backend: Backend): CallPlacement {
  const lacks = (call: CallNode, id: NodeId): boolean => lack(program, call, id, backend) !== null;
  const counters = countersOf(program, backend);
  const hasLacking = ({ regions }: CallNode): boolean =>
    regions.some((region) => lackedCalls(region, backend).length > 0);
  return {
    runsOnHost: (call: CallNode, id: NodeId, own: ReadonlyMap<string, Value>) =>
      controlOf(call) !== null && (isHostRun(call, id, own) || lacks(call, id) || hasLacking(call)),
    runsElsewhere: (call, id) => lacks(call, id) || counters.has(id),
    isWhole: true,
    keepsSizes: true,
  };
}

/**
 * Calls that go on counting what the host has counted before, so that nothing has to be read: single integers that
 * follow from operands of the program, as the number of an optimizer's steps, and few integers for calls that a device
 * lacks, as those for corrections in float64.
 */
function countersOf(program: Program, backend: Backend): ReadonlySet<NodeId> {
  const found = new Set<NodeId>();
  for (const [id, call] of program.calls()) {
    if (!isOfFewIntegers(program, call, id, 1)) continue;
    const operands = program.operands(id).map(({ node }) => node);
    if (operands.every((node) => program.node(node).kind !== 'call' || found.has(node)))
      found.add(id);
  }
  const needed = new Set<NodeId>();
  for (const [id, call] of [...program.calls()].toReversed()) {
    const isCounter =
      found.has(id) ||
      (needed.has(id) && isOfFewIntegers(program, call, id, mostRemembered / bytesOf('int64')));
    if (isCounter) found.add(id);
    else if (lack(program, call, id, backend) === null) continue;
    for (const { node } of program.operands(id)) needed.add(node);
  }
  return found;
}

/** True for a call that reads and makes int64 only, `most` of them in each array. */
function isOfFewIntegers(program: Program, call: CallNode, id: NodeId, most: number): boolean {
  const types = [...program.operands(id).map(({ type }) => type), ...call.types];
  return types.every(({ dtype, shape }) => {
    const length = elementCount(shape);
    return dtype === 'int64' && typeof length === 'number' && length <= most;
  });
}

/**
 * A program as a device can run most of it: loops have room for all of their rows where the device decides about
 * iterations; calls of whose dtypes it lacks only those of results are expanded; and positions and counts of int64 are
 * made as int32, and stay so where the program only uses them.
 */
export function preparedFor(program: Program, { limits, target, hasConditions }: Backend): Program {
  const padded = hasConditions === true ? padRows(program) : program;
  const has = ({ type: { dtype } }: Value): boolean => limits.dtypes.has(dtype);
  const expanded = expandFor(padded, target, (inner, _call, id) => {
    return inner.operands(id).every(has) && !inner.results(id).every(has);
  });
  return limits.dtypes.has('int64') ? expanded : narrowPositions(expanded);
}

function lack(program: Program, call: CallNode, id: NodeId, backend: Backend): LackedCall | null {
  const operands = program.operands(id).map(({ type }) => type);
  const missing = [...operands, ...call.types].find(({ dtype }) => !backend.limits.dtypes.has(dtype)); // prettier-ignore
  if (missing !== undefined) return { call, dtype: missing.dtype };
  return backend.supports?.(call, operands) === false ? { call, dtype: null } : null;
}

/**
 * Refuses a program that a device cannot run by itself.
 * @throws DeviceError that names the calls and their lines.
 */
export function refuseLacking(program: Program, backend: Backend): void {
  const [first, ...rest] = lackedCalls(program, backend);
  if (first === undefined) return;
  const { call, dtype } = first;
  const what = dtype === null ? `operator ${call.op.name}` : dtype;
  const calls = [first, ...rest].map(lackedText);
  throw new DeviceError(`the device has no ${what}`, {
    op: call.op.name,
    expected: [...backend.limits.dtypes].join(', '),
    actual: [...new Set(calls)].join('; '),
    advice: 'cast to another dtype, or compute on the CPU: await x.cpu()',
    source: call.source,
  });
}

/** A call with what it needs and its line. */
export function lackedText({ call: { op, source }, dtype }: LackedCall): string {
  const what = dtype === null ? op.name : `${op.name} of ${dtype}`;
  return source === undefined ? what : `${what} (${source})`;
}
