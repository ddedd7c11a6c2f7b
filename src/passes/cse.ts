import type { HostArray } from '../base/dtype.js';
import { encodeAttributes } from '../base/schema.js';
import type { CallNode, Program, Value } from '../ir/program.js';
import type { ConstantData } from '../ir/types.js';
import { throughRegions, transform } from './transform.js';

/**
 * Common subexpression elimination: of calls with the same operator, attributes, regions and operands,
 * and of constants with the same bits, only the first stays. Keys are exact, not hashes; linear in the
 * program and the bytes of its constants. Operators are pure, so equal keys mean equal values: random
 * ones take their state as an operand.
 */
export function eliminateCommonSubexpressions(program: Program): Program {
  const numbers = new Map<object, number>();
  return throughRegions(program, (inner, region) => {
    const calls = new Map<string, readonly Value[]>();
    const constants = new ConstantTable();
    return transform(
      inner,
      (site) => {
        const { node, operands } = site;
        if (node.kind === 'constant') return constants.firstLike(node.data, () => site.copy());
        const key = callKey(node, operands, numbers);
        let first = calls.get(key);
        if (first === undefined) calls.set(key, (first = site.copy()));
        return first;
      },
      { region },
    );
  });
}

/** Operators and regions count by identity: `numbers` gives each a number when it is first seen. */
function callKey(
  { op, attributes, regions }: CallNode,
  operands: readonly Value[],
  numbers: Map<object, number>,
): string {
  const numberOf = (object: object): number => {
    let number = numbers.get(object);
    if (number === undefined) numbers.set(object, (number = numbers.size));
    return number;
  };
  let key = String(numberOf(op));
  for (const { node, port } of operands) key += `,${node}:${port}`;
  for (const region of regions) key += `;${numberOf(region)}`;
  for (const _ in attributes)
    return key + JSON.stringify(encodeAttributes(op.attributes, attributes));
  return key;
}

/** The constants seen so far, found by a hash of their bytes and then compared byte by byte. */
class ConstantTable {
  readonly #buckets: Map<string, { readonly bits: Bits; readonly values: readonly Value[] }[]> =
    new Map();

  /** The values of an equal constant seen before, or of a copy made now. */
  firstLike(data: ConstantData, copy: () => readonly Value[]): readonly Value[] {
    const bits = bitsOf(data.data);
    const key = `${data.type.dtype}[${data.type.shape.join()}]${hash(bits)}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = []));
    const found = bucket.find((entry) => sameBits(entry.bits, bits));
    if (found !== undefined) return found.values;
    const values = copy();
    bucket.push({ bits, values });
    return values;
  }
}

type Bits = Uint8Array | Uint32Array;

/** The elements as bits: by words where they fill words, since parameters can be large. */
function bitsOf(data: HostArray): Bits {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length % 4 !== 0) return bytes;
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, bytes.length / 4);
}

/** In the manner of FNV-1a; equality never rests on it. */
function hash(bits: Bits): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < bits.length; i++) {
    state = Math.imul(state ^ bits[i], 0x01000193);
    state ^= state >>> 15; // a word's high bits would not reach the low ones by themselves
  }
  return state >>> 0;
}

function sameBits(a: Bits, b: Bits): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}
