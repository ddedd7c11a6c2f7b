import { InternalError } from '../../../base/errors.js';
import { float64Functions } from './float64.js';
import { int64Functions } from './int64.js';
import { gridLanes } from '../../../loop/language/team.js';
import { inAllLanes, wgslType } from './types.js';

/**
 * Functions of WGSL that kernels call, besides `laneFunctions`. Drivers may assume that floats are neither NaN nor infinite and that sums of
 * floats are sums of reals, so that whatever depends on the contrary is computed on bits, or hidden from them by `zero`,
 * a word of the uniform block that is 0 and of which they cannot know that.
 */
const functions: Readonly<Record<string, string>> = {
  k_float: `fn k_float(bits: u32) -> f32 {
  return bitcast<f32>(bits ^ k_zero());
}`,
  k_opaque: `fn k_opaque(x: i32) -> i32 {
  return x ^ bitcast<i32>(k_zero());
}`,
  ...int64Functions,
  ...float64Functions,
};

/** Names of types, and a constant in all lanes. */
interface LaneTypes {
  readonly f: string;
  readonly i: string;
  readonly u: string;
  readonly b: string;
  all(scalar: string, text: string): string;
}

/** Functions of scalars and, lane by lane, of vectors: the text behind the name, in which `$` ends names of others. */
const laneFunctions: Readonly<Record<string, (types: LaneTypes) => string>> = {
  k_exact: ({ f, u, all }) => `(x: ${f}) -> ${f} {
  return bitcast<${f}>(bitcast<${u}>(x) ^ ${all('u32', 'k_zero()')});
}`,
  k_nan: ({ f, u, b, all }) => `(x: ${f}) -> ${b} {
  return (bitcast<${u}>(x) & ${all('u32', '0x7fffffffu')}) > ${all('u32', '0x7f800000u')};
}`,
  k_ne: ({ f, b }) => `(a: ${f}, b: ${f}) -> ${b} {
  return (a != b) | k_nan$(a) | k_nan$(b);
}`,
  k_not_lt: ({ f, b }) => `(a: ${f}, b: ${f}) -> ${b} {
  return (a >= b) | k_nan$(a) | k_nan$(b);
}`,
  k_not_le: ({ f, b }) => `(a: ${f}, b: ${f}) -> ${b} {
  return (a > b) | k_nan$(a) | k_nan$(b);
}`,
  // Integers in the order of the floats, with -0 below +0.
  k_rank: ({ f, i, all }) => `(x: ${f}) -> ${i} {
  let bits = bitcast<${i}>(x);
  return bits ^ ((bits >> ${all('u32', '31u')}) & ${all('i32', '0x7fffffffi')});
}`,
  k_min: ({ f }) => `(a: ${f}, b: ${f}) -> ${f} {
  let least = select(b, a, k_rank$(a) < k_rank$(b));
  return select(select(least, b, k_nan$(b)), a, k_nan$(a));
}`,
  k_max: ({ f }) => `(a: ${f}, b: ${f}) -> ${f} {
  let greatest = select(b, a, k_rank$(a) > k_rank$(b));
  return select(select(greatest, b, k_nan$(b)), a, k_nan$(a));
}`,
  // x * 2^112 for bits of a float16: where they are subnormal, beside the least normal one.
  k_half: ({ f, i, all }) => `(x: ${f}) -> ${f} {
  let bits = bitcast<${i}>(x);
  let tiny = bitcast<${f}>(bits + ${all('i32', '0x38800000i')}) - ${all('f32', '0x1p-14f')};
  return select(bitcast<${f}>(bits + ${all('i32', '0x38000000i')}), tiny, bits < ${all('i32', '0x00800000i')});
}`,
  k_f32_to_i32: ({ f, i, all }) => `(x: ${f}) -> ${i} {
  let inside = ${i}(clamp(x, ${all('f32', '-2147483648f')}, ${all('f32', '2147483520f')}));
  let above = select(inside, ${all('i32', '2147483647i')}, x >= ${all('f32', '2147483648f')});
  return select(above, ${all('i32', '0i')}, k_nan$(x));
}`,
};

/** End of the names of functions of vectors. */
const vectorSuffix = `_${gridLanes}`;

/** Name of a function of lanes, and its text. */
function ofLanes(name: string, lanes: number): readonly [name: string, text: string] {
  const suffix = lanes === 1 ? '' : vectorSuffix;
  const behind = laneFunctions[name]({
    f: wgslType('f32', lanes),
    i: wgslType('i32', lanes),
    u: wgslType('u32', lanes),
    b: wgslType('bool', lanes),
    all: (scalar, text) => inAllLanes(scalar, text, lanes),
  });
  return [`${name}${suffix}`, `fn ${name}${suffix}${behind.replaceAll('$(', `${suffix}(`)}`];
}

/** The functions that a shader uses, each with those that it uses itself. */
export class ShaderFunctions {
  readonly #used: Map<string, string> = new Map();

  /** Name of a function, which becomes part of the shader; of so many lanes, if it is one of lanes. */
  use(name: string, lanes: number = 1): string {
    if (name in laneFunctions) return this.define(...ofLanes(name, lanes));
    const text = functions[name];
    if (text === undefined || lanes > 1) throw new InternalError(`WGSL has no helper ${name} of ${lanes} lanes`); // prettier-ignore
    return this.define(name, text);
  }

  /** A function with a text of its own. */
  define(name: string, text: string): string {
    if (this.#used.has(name)) return name;
    this.#used.set(name, text);
    for (const [inner] of text.matchAll(/\bk_\w+/g)) {
      const [plain, lanes] = inner.endsWith(vectorSuffix) ? [inner.slice(0, -vectorSuffix.length), gridLanes] : [inner, 1]; // prettier-ignore
      if (plain in laneFunctions || plain in functions) this.use(plain, lanes);
    }
    return name;
  }

  get text(): string {
    return [...this.#used.values()].join('\n\n');
  }
}
