/*
 * Numbers that carry derivatives: a + b e with e e = 0, where a and b may be such numbers of earlier perturbations. A
 * number perturbed three times in one direction knows the first three derivatives along it.
 */

/** A number, or one with a derivative by its newest perturbation. */
export type Num = number | Dual;

export class Dual {
  /** The perturbation; the newest one of all that take part. */
  readonly tag: number;
  readonly a: Num;
  readonly b: Num;

  constructor(tag: number, a: Num, b: Num) {
    this.tag = tag;
    this.a = a;
    this.b = b;
  }
}

let tags = 0;

/** A perturbation that no number has yet. */
export function newTag(): number {
  return ++tags;
}

/** The number without derivatives. */
export function valueOf(x: Num): number {
  return typeof x === 'number' ? x : valueOf(x.a);
}

/** The derivative by a perturbation, which is the newest. */
export function slopeOf(x: Num, tag: number): Num {
  return x instanceof Dual && x.tag === tag ? x.b : 0;
}

/** The number before a perturbation, which is the newest. */
export function baseOf(x: Num, tag: number): Num {
  return x instanceof Dual && x.tag === tag ? x.a : x;
}

function tagOf(x: Num): number {
  return typeof x === 'number' ? 0 : x.tag;
}

/** The greatest number that has been computed, whatever its sign. */
let greatest = 0;

function computed(x: number): number {
  greatest = Math.max(greatest, Math.abs(x) || 0);
  return x;
}

/** What code makes, and the greatest number on the way there, whatever its sign. */
export function withGreatest<R>(run: () => R): readonly [made: R, greatest: number] {
  greatest = 0;
  return [run(), greatest];
}

export function add(x: Num, y: Num): Num {
  if (typeof x === 'number' && typeof y === 'number') return computed(x + y);
  const tag = Math.max(tagOf(x), tagOf(y));
  return new Dual(tag, add(baseOf(x, tag), baseOf(y, tag)), add(slopeOf(x, tag), slopeOf(y, tag)));
}

export function mul(x: Num, y: Num): Num {
  if (typeof x === 'number' && typeof y === 'number') return computed(x * y);
  const tag = Math.max(tagOf(x), tagOf(y));
  const [a, c] = [baseOf(x, tag), baseOf(y, tag)];
  return new Dual(tag, mul(a, c), add(mul(a, slopeOf(y, tag)), mul(slopeOf(x, tag), c)));
}

export function sub(x: Num, y: Num): Num {
  return add(x, mul(-1, y));
}

/** A function of one number, by its derivative in terms of operand and result. */
function curve(f: (x: number) => number, slope: (x: Num, y: Num) => Num): (x: Num) => Num {
  const apply = (x: Num): Num => {
    if (typeof x === 'number') return computed(f(x));
    const y = apply(x.a);
    return new Dual(x.tag, y, mul(slope(x.a, y), x.b));
  };
  return apply;
}

export const exp: (x: Num) => Num = curve(Math.exp, (_, y) => y);
export const tanh: (x: Num) => Num = curve(Math.tanh, (_, y) => sub(1, mul(y, y)));
export const sin: (x: Num) => Num = curve(Math.sin, (x) => cos(x));
const cos: (x: Num) => Num = curve(Math.cos, (x) => mul(-1, sin(x)));
export const sigmoid: (x: Num) => Num = curve((x) => 1 / (1 + Math.exp(-x)), (_, y) => mul(y, sub(1, y))); // prettier-ignore
export const reciprocal: (x: Num) => Num = curve(
  (x) => 1 / x,
  (_, y) => mul(-1, mul(y, y)),
);
