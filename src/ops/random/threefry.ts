import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { PointContext } from '../declare/lowering.js';

/*
 * Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011): a keyed bijection of two words that needs no state between calls, so element i of an
 * array can be drawn in any order, on any thread, on any device.
 */

const rotations: readonly number[] = [13, 15, 26, 6, 17, 29, 16, 24];
const parity = 0x1bd11bda;
const rounds = 20;

export type WordPair = readonly [first: Expr, second: Expr];

const rotateLeft = (x: Expr, count: number): Expr => e.or(e.shl(x, count), e.shrU(x, 32 - count));

/** Encrypts a counter with a key; all words are i32. */
function threefry(key: WordPair, counter: WordPair): WordPair {
  const schedule = [key[0], key[1], e.xor(e.xor(key[0], key[1]), parity)];
  let x = e.add(counter[0], schedule[0]);
  let y = e.add(counter[1], schedule[1]);
  for (let round = 0; round < rounds; round++) {
    x = e.add(x, y);
    y = e.xor(rotateLeft(y, rotations[round % rotations.length]), x);
    if (round % 4 === 3) {
      const injection = (round + 1) / 4;
      x = e.add(x, schedule[injection % 3]);
      y = e.add(y, e.add(schedule[(injection + 1) % 3], injection));
    }
  }
  return [x, y];
}

/**
 * 64 random bits for the result element. They depend only on the seed, the counter and the row-major position
 * of the element: the seed is the key, the position and the counter's low word are encrypted. The counter's
 * high word changes the key, so streams repeat after 2^64 calls, not 2^32.
 */
export function randomWords<A>({ inputs: [state], outputType, index }: PointContext<A>): WordPair {
  const seed = state.at([e.i32(0)]);
  const counter = state.at([e.i32(1)]);
  const low = (x: Expr): Expr => e.cast('i32', x);
  const high = (x: Expr): Expr => e.cast('i32', e.shrU(x, 32));
  const number = index.reduce<Expr>(
    (sum, position, axis) => e.add(e.mul(sum, outputType.shape[axis]), position),
    e.i32(0),
  );
  return threefry([low(seed), e.xor(high(seed), high(counter))], [number, low(counter)]);
}
