import { InternalError } from '../../base/errors.js';
import type { Program, Value } from '../../ir/program.js';
import type { Group } from '../groups/group.js';
import { nominalBytes } from '../rewrite/nominal.js';
import { readsThroughBarrier, viewed } from '../rewrite/views.js';

/** Number of ready groups that are compared; keeps scheduling linear. */
const candidates = 32;

/**
 * A list schedule of groups. Among the first ready groups, the one runs next that frees the most memory,
 * minus the memory it writes; ties keep program order. A group that reads through a barrier runs only when
 * nothing before it in the program is ready: it is meant to be late.
 */
export function schedule(program: Program, groups: readonly Group[]): readonly Group[] {
  const writer = new Map<Value, Group>();
  const readers = new Map<Value, Group[]>();
  for (const group of groups) for (const value of group.writes) writer.set(value, group);
  const waiting = new Map<Group, number>();
  const pending = new Map<Value, number>();
  for (const group of groups) {
    const inside = group.reads.filter((value) => writer.has(value));
    waiting.set(group, inside.length);
    for (const value of inside) {
      pending.set(value, (pending.get(value) ?? 0) + 1);
      const known = readers.get(value);
      if (known === undefined) readers.set(value, [group]);
      else known.push(group);
    }
  }
  for (const { value } of program.outputs) pending.set(viewed(program, value), Infinity);

  const late = new Set(groups.filter((group) => readsThroughBarrier(program, group.members)));
  const costs = new Costs(program, groups);
  const gain = (group: Group): number => {
    let bytes = 0;
    for (const value of group.reads) if (pending.get(value) === 1) bytes += costs.bytesOf(value);
    return bytes - costs.ofWriting(group);
  };
  const ready = [...groups].filter((group) => waiting.get(group) === 0).sort(byProgramOrder);
  const order: Group[] = [];
  while (ready.length > 0) {
    let best = 0;
    const considered = Math.min(candidates, ready.length);
    if (considered > 1) {
      const gains = ready.slice(0, considered).map(gain);
      for (let i = 1; i < considered; i++) {
        if (gains[i] > gains[best] && !late.has(ready[i])) best = i;
      }
    }
    const [group] = ready.splice(best, 1);
    order.push(group);
    costs.ran(group);
    for (const value of group.reads) {
      const left = pending.get(value);
      if (left !== undefined) pending.set(value, left - 1);
    }
    for (const value of group.writes) {
      for (const reader of readers.get(value) ?? []) {
        const left = waiting.get(reader)! - 1;
        waiting.set(reader, left);
        if (left === 0) insertInOrder(ready, reader);
      }
    }
  }
  if (order.length !== groups.length)
    throw new InternalError('groups wait for each other in a circle');
  return order;
}

function byProgramOrder(a: Group, b: Group): number {
  return a.anchors[0] - b.anchors[0];
}

function insertInOrder(ready: Group[], group: Group): void {
  let at = ready.length;
  while (at > 0 && byProgramOrder(ready[at - 1], group) > 0) at--;
  ready.splice(at, 0, group);
}

/**
 * Effect of groups on the memory in use. Outputs that nothing else reads and that may overwrite an operand
 * from outside are expected to: updated parameters, for example. Computing such an output frees its operands
 * and allocates nothing, once it is the last reader of the overwritten operand.
 */
class Costs {
  readonly #bytes: Map<Value, number> = new Map();
  /** The operands that such an output may overwrite. */
  readonly #overwritten: Map<Value, readonly Value[]> = new Map();
  /** Number of groups that have yet to read such an operand. */
  readonly #readers: Map<Value, number> = new Map();

  constructor(program: Program, groups: readonly Group[]) {
    const outputs = new Set(program.outputs.map(({ value }) => value));
    for (const { reads } of groups) for (const value of reads) outputs.delete(value);
    for (const { reuses } of groups) {
      for (const [value, operands] of reuses) {
        const given = operands.filter(({ node }) => program.node(node).kind === 'variable');
        if (given.length === 0 || !outputs.has(value)) continue;
        this.#overwritten.set(value, given);
        for (const operand of given) this.#readers.set(operand, 0);
      }
    }
    for (const { reads } of groups) this.#count(reads, 1);
  }

  bytesOf(value: Value): number {
    let bytes = this.#bytes.get(value);
    if (bytes === undefined) this.#bytes.set(value, (bytes = nominalBytes(value.type)));
    return bytes;
  }

  /**
   * Infinite when a result might overwrite an operand that others have yet to read: it would have to be
   * copied.
   */
  ofWriting({ writes }: Group): number {
    let bytes = 0;
    for (const value of writes) {
      const operands = this.#overwritten.get(value);
      if (operands === undefined) bytes += this.bytesOf(value);
      else if (operands.some((operand) => this.#readers.get(operand)! > 1)) return Infinity;
    }
    return bytes;
  }

  ran({ reads }: Group): void {
    this.#count(reads, -1);
  }

  #count(reads: readonly Value[], by: number): void {
    for (const value of reads) {
      const readers = this.#readers.get(value);
      if (readers !== undefined) this.#readers.set(value, readers + by);
    }
  }
}
