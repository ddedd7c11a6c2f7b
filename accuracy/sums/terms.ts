/** Terms of sums, and what they add up to in double precision. */

/** What the terms of a sum are: all 0.1, of one sign, or normal, so that they cancel. */
export type Kind = 'equal' | 'positive' | 'normal';

export const kinds: readonly Kind[] = ['equal', 'positive', 'normal'];

/** Uniform numbers in (0, 1], the same in every run (Marsaglia's xorshift with 32 bits). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 1) / 2 ** 32;
  };
}

/** The terms that were drawn last; fewer of a kind are the first of them. */
const drawn: { kind: Kind | null; terms: Float32Array } = { kind: null, terms: new Float32Array() };

/** So many terms; the same where the same are asked for again. */
export function termsOf(kind: Kind, length: number): Float32Array {
  if (drawn.kind !== kind || drawn.terms.length < length) {
    const uniform = generator(123_456_789);
    const normal = (): number =>
      Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    const term = { equal: () => 0.1, positive: uniform, normal }[kind];
    drawn.kind = kind;
    drawn.terms = new Float32Array(length);
    for (let i = 0; i < length; i++) drawn.terms[i] = term();
  }
  return drawn.terms.subarray(0, length);
}

/** A sum of doubles that carries what it rounds away (Neumaier, 1974), and the sum of all magnitudes. */
export class Exact {
  #sum = 0;
  #error = 0;
  magnitude = 0;

  add(term: number): void {
    const sum = this.#sum + term;
    this.#error +=
      Math.abs(this.#sum) >= Math.abs(term) ? this.#sum - sum + term : term - sum + this.#sum;
    this.#sum = sum;
    this.magnitude += Math.abs(term);
  }

  get sum(): number {
    return this.#sum + this.#error;
  }
}

/** The row-major layout of an array of which one or more axes are folded. */
export interface Layout {
  readonly shape: readonly number[];
  readonly axes: readonly number[];
}

/** For every result, the places of the elements that fall into it are visited in order. */
export function forEachTerm(
  { shape, axes }: Layout,
  visit: (result: number, at: number) => void,
): void {
  const kept = shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));
  const index = shape.map(() => 0);
  const steps = kept.map((_, axis) =>
    axes.includes(axis) ? 0 : kept.slice(axis + 1).reduce((a, b) => a * b, 1),
  );
  const length = shape.reduce((a, b) => a * b, 1);
  let result = 0;
  for (let at = 0; at < length; at++) {
    visit(result, at);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      result += steps[axis];
      if (++index[axis] < shape[axis]) break;
      result -= steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

/** How many results there are. */
export function resultsOf({ shape, axes }: Layout): number {
  return shape.reduce((count, extent, axis) => (axes.includes(axis) ? count : count * extent), 1);
}

/** What falls into each result, through a function, added up. */
export function foldOf(
  layout: Layout,
  term: (at: number, result: number) => number,
): readonly Exact[] {
  const sums = Array.from({ length: resultsOf(layout) }, () => new Exact());
  forEachTerm(layout, (result, at) => sums[result].add(term(at, result)));
  return sums;
}
