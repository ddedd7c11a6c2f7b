import type { NodeId } from '../../graph/graph.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { CallLabels } from '../../ir/call-labels.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { ConstantData, TensorType } from '../../ir/types.js';
import { type Bits, bitsOf, hashOf, sameBits } from '../../ir/bits.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { DistinctPrograms } from '../../ir/same-program.js';
import { throughRegions, transform } from '../rewrite/transform.js';

/**
 * Common subexpression elimination: of calls with the same operator, attributes, regions and operands,
 * and of constants with the same bits, only the first stays. Found by hashes, decided by comparison;
 * linear in the program and the bytes of its constants. Operators are pure, so equal calls give equal
 * values: random ones take their state as an operand.
 */
export function eliminateCommonSubexpressions(program: Program): Program {
  const distinct = new DistinctPrograms();
  const labels = new CallLabels((region) => distinct.firstLike(region));
  return throughRegions(program, (inner, region) => {
    // Nothing is built before a repetition is found: the first one, in program order, reads the same values
    // as its original.
    if (!hasRepeats(inner, labels, region)) return inner;
    const calls = new CallTable();
    const constants = new ConstantTable();
    return transform(
      inner,
      (site) => {
        const { node, operands, into } = site;
        if (node.kind === 'constant') return constants.firstLike(node.data, () => site.copy());
        return calls.firstLike(into, labelOf(node, labels), operands, () => site.copy());
      },
      { region },
    );
  });
}

/** True when something is computed twice, or a region is to be replaced. */
function hasRepeats(
  program: Program,
  labels: CallLabels,
  region: (region: Program) => Program,
): boolean {
  const calls = new CallTable();
  const constants = new ConstantTable();
  let results: readonly Value[] = [];
  const own = (): readonly Value[] => results;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable' || node.kind === 'check') continue;
    results = program.results(id);
    if (node.kind === 'constant') {
      if (constants.firstLike(node.data, own) !== results) return true;
      continue;
    }
    if (node.regions.some((inner) => region(inner) !== inner)) return true;
    const first = calls.firstLike(program, labelOf(node, labels), program.operands(id), own);
    if (first !== results) return true;
  }
  return false;
}

/** The label of a call for which data-dependent sizes are the same only within the same bounds. */
function labelOf(call: CallNode, labels: CallLabels): number {
  const isSized = declarationOf(call.op).measure !== undefined;
  return labels.of(call, isSized ? boundsOfTypes(call.types) : '');
}

function boundsOfTypes(types: readonly TensorType[]): string {
  const bounds = [...symbolsOfTypes(types).values()];
  return bounds.map(({ min, max }) => `[${min},${max}]`).join('');
}

/**
 * Hash table of the calls of one program, by label and operands. Chains in flat arrays: a million string keys
 * would cost more than the rest of the pass.
 */
class CallTable {
  /** By hash bucket: the last entry of its chain, or -1. */
  #heads: Int32Array = new Int32Array(64).fill(-1);
  /** By entry: the hash, the label, the node in the new program, the previous entry of the chain. */
  readonly #hashes: number[] = [];
  readonly #labels: number[] = [];
  readonly #nodes: NodeId[] = [];
  readonly #before: number[] = [];

  /** The values of an equal call seen before, or of a copy made now. */
  firstLike(
    into: Program,
    label: number,
    operands: readonly Value[],
    copy: () => readonly Value[],
  ): readonly Value[] {
    let hash = label;
    for (let i = 0; i < operands.length; i++) {
      hash = mixed(mixed(hash, operands[i].node), operands[i].port);
    }
    let entry = this.#heads[hash & (this.#heads.length - 1)];
    for (; entry >= 0; entry = this.#before[entry]) {
      if (this.#hashes[entry] !== hash || this.#labels[entry] !== label) continue;
      const node = this.#nodes[entry];
      if (readsExactly(into, node, operands)) return into.results(node);
    }
    const made = copy();
    if (made.length > 0) this.#add(hash, label, made[0].node);
    return made;
  }

  #add(hash: number, label: number, node: NodeId): void {
    const entry = this.#nodes.length;
    if (entry === this.#heads.length) this.#grow();
    this.#hashes.push(hash);
    this.#labels.push(label);
    this.#nodes.push(node);
    const slot = hash & (this.#heads.length - 1);
    this.#before.push(this.#heads[slot]);
    this.#heads[slot] = entry;
  }

  #grow(): void {
    this.#heads = new Int32Array(2 * this.#heads.length).fill(-1);
    this.#hashes.forEach((hash, entry) => {
      const slot = hash & (this.#heads.length - 1);
      this.#before[entry] = this.#heads[slot];
      this.#heads[slot] = entry;
    });
  }
}

function readsExactly(program: Program, node: NodeId, operands: readonly Value[]): boolean {
  const read = program.operands(node);
  if (read.length !== operands.length) return false;
  for (let i = 0; i < read.length; i++) if (read[i] !== operands[i]) return false;
  return true;
}

/** Combines a hash with a number, in the manner of MurmurHash3's finalizer. */
function mixed(hash: number, number: number): number {
  let state = Math.imul(hash ^ number, 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return state ^ (state >>> 16);
}

/** Hash table of constants, compared byte by byte. */
class ConstantTable {
  readonly #buckets: Map<string, { readonly bits: Bits; readonly values: readonly Value[] }[]> =
    new Map();

  /** The values of an equal constant seen before, or of a copy made now. */
  firstLike(data: ConstantData, copy: () => readonly Value[]): readonly Value[] {
    const bits = bitsOf(data.data);
    const key = `${data.type.dtype}[${data.type.shape.join()}]${hashOf(bits)}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = []));
    const found = bucket.find((entry) => sameBits(entry.bits, bits));
    if (found !== undefined) return found.values;
    const values = copy();
    bucket.push({ bits, values });
    return values;
  }
}
