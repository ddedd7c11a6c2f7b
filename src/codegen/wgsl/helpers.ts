import { InternalError } from '../../base/errors.js';
import { float64Functions } from './float64.js';
import { int64Functions } from './int64.js';

/**
 * Functions of WGSL that kernels call. Drivers may assume that floats are neither NaN nor infinite and that sums of
 * floats are sums of reals, so that whatever depends on the contrary is computed on bits, or hidden from them by `zero`,
 * a word of the uniform block that is 0 and of which they cannot know that.
 */
const functions: Readonly<Record<string, string>> = {
  k_float: `fn k_float(bits: u32) -> f32 {
  return bitcast<f32>(bits ^ k_zero());
}`,
  k_exact: `fn k_exact(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ k_zero());
}`,
  k_opaque: `fn k_opaque(x: i32) -> i32 {
  return x ^ bitcast<i32>(k_zero());
}`,
  k_nan: `fn k_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}`,
  k_ne: `fn k_ne(a: f32, b: f32) -> bool {
  return a != b || k_nan(a) || k_nan(b);
}`,
  k_not_lt: `fn k_not_lt(a: f32, b: f32) -> bool {
  return a >= b || k_nan(a) || k_nan(b);
}`,
  k_not_le: `fn k_not_le(a: f32, b: f32) -> bool {
  return a > b || k_nan(a) || k_nan(b);
}`,
  // Integers in the order of the floats, with -0 below +0.
  k_rank: `fn k_rank(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return bits ^ ((bits >> 31u) & 0x7fffffffi);
}`,
  k_min: `fn k_min(a: f32, b: f32) -> f32 {
  let least = select(b, a, k_rank(a) < k_rank(b));
  return select(select(least, b, k_nan(b)), a, k_nan(a));
}`,
  k_max: `fn k_max(a: f32, b: f32) -> f32 {
  let greatest = select(b, a, k_rank(a) > k_rank(b));
  return select(select(greatest, b, k_nan(b)), a, k_nan(a));
}`,
  k_f32_to_i32: `fn k_f32_to_i32(x: f32) -> i32 {
  let inside = i32(clamp(x, -2147483648f, 2147483520f));
  let above = select(inside, 2147483647i, x >= 2147483648f);
  return select(above, 0i, k_nan(x));
}`,
  ...int64Functions,
  ...float64Functions,
};

/** The functions that a shader uses, each with those that it uses itself. */
export class ShaderFunctions {
  readonly #used: Map<string, string> = new Map();

  /** Name of a function, which becomes part of the shader. */
  use(name: string): string {
    const text = functions[name];
    if (text === undefined) throw new InternalError(`WGSL has no helper ${name}`);
    this.define(name, text);
    return name;
  }

  /** A function with a text of its own. */
  define(name: string, text: string): string {
    if (this.#used.has(name)) return name;
    this.#used.set(name, text);
    for (const [inner] of text.matchAll(/\bk_\w+/g)) if (inner in functions) this.use(inner);
    return name;
  }

  get text(): string {
    return [...this.#used.values()].join('\n\n');
  }
}
