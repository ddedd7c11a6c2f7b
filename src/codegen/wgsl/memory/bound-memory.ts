import { unreachable } from '../../../base/unreachable.js';
import type { ElementKind } from '../../../loop/language/nodes.js';
import { components, ElementText } from './elements.js';
import type { ShaderFunctions } from '../functions/helpers.js';

/** Bindings by their elements; those of all others are words. */
export interface BindingElements {
  /** Bindings whose words several invocations store parts of. */
  readonly atomic: ReadonlySet<number>;
  /** Bindings that are arrays of vectors of four words, since nothing stores to less. */
  readonly vectors: ReadonlySet<number>;
}

/** Reads and writes of elements of a kind in a binding, an array of words or of vectors of four words. */
export class BoundMemory extends ElementText {
  readonly #array: string;
  readonly #isAtomic: boolean;
  readonly #isOfVectors: boolean;

  constructor(
    storage: ElementKind,
    binding: number,
    { atomic, vectors }: BindingElements,
    helpers: ShaderFunctions,
  ) {
    super(storage, helpers, `${storage}_${binding}`, 'u32');
    this.#array = bindingName(binding);
    this.#isAtomic = atomic.has(binding);
    this.#isOfVectors = vectors.has(binding);
  }

  load(index: string): string {
    const element = (type: string, text: string): string =>
      this.call('k_load', `(i: u32) -> ${type}`, `return ${text};`, index);
    switch (this.storage) {
      case 'i32':
      case 'f32':
        return `bitcast<${this.storage}>(${this.#word(index)})`;
      case 'i64':
      case 'f64':
        return element('vec2<u32>', `vec2<u32>(${this.#word('2u * i')}, ${this.#word('2u * i + 1u')})`); // prettier-ignore
      case 'i8':
        return element('i32', `bitcast<i32>(${this.#word('i >> 2u')} << (24u - (i & 3u) * 8u)) >> 24u`); // prettier-ignore
      case 'u8':
        return element('i32', `bitcast<i32>((${this.#word('i >> 2u')} >> ((i & 3u) * 8u)) & 0xffu)`); // prettier-ignore
      case 'u16':
        return element('i32', `bitcast<i32>((${this.#word('i >> 1u')} >> ((i & 1u) * 16u)) & 0xffffu)`); // prettier-ignore
      default:
        return unreachable(this.storage);
    }
  }

  loadVector(index: string): string {
    if (this.#isOfVectors && !this.#isNarrow) {
      return `bitcast<${this.vector}>(${this.#array}[(${index}) >> 2u])`;
    }
    const text = ((): string => {
      switch (this.storage) {
        case 'i8':
          return `bitcast<vec4<i32>>(vec4<u32>(${this.#word('i >> 2u')}) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u)`;
        case 'u8':
          return `bitcast<vec4<i32>>((vec4<u32>(${this.#word('i >> 2u')}) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu))`;
        case 'u16':
          return `bitcast<vec4<i32>>((vec2<u32>(${this.#word('i >> 1u')}, ${this.#word('(i >> 1u) + 1u')}).xxyy >> vec4<u32>(0u, 16u, 0u, 16u)) & vec4<u32>(0xffffu))`;
        default:
          return `${this.vector}(${[0, 1, 2, 3].map((k) => this.load(`i + ${k}u`)).join(', ')})`;
      }
    })();
    return this.call('k_load_4', `(i: u32) -> ${this.vector}`, `return ${text};`, index);
  }

  store(index: string, value: string): string {
    switch (this.storage) {
      case 'i32':
      case 'f32': {
        if (!this.#isOfVectors) return this.#write(index, `bitcast<u32>(${value})`);
        const write = `${this.#array}[i >> 2u][i & 3u] = bitcast<u32>(x);`;
        return `${this.call('k_store', `(i: u32, x: ${this.storage})`, write, index, value)};`;
      }
      case 'i64':
      case 'f64': {
        const [low, high] = ['2u * i', '2u * i + 1u'].map((at, k) => this.#write(at, `x.${components[k]}`)); // prettier-ignore
        return `${this.call('k_store', '(i: u32, x: vec2<u32>)', `${low}\n  ${high}`, index, value)};`;
      }
      default:
        return `${this.call('k_store', '(i: u32, x: i32)', this.#narrowStore, index, value)};`;
    }
  }

  storeVector(index: string, value: string): string {
    if (this.#isOfVectors) {
      return `${this.#array}[(${index}) >> 2u] = bitcast<vec4<u32>>(${value});`;
    }
    const bits = (mask: string): string => `let y = bitcast<vec4<u32>>(x) & vec4<u32>(${mask});`;
    const statements = ((): readonly string[] => {
      switch (this.storage) {
        case 'i8':
        case 'u8':
          return [bits('0xffu'), this.#write('i >> 2u', 'y.x | (y.y << 8u) | (y.z << 16u) | (y.w << 24u)')]; // prettier-ignore
        case 'u16':
          return [
            bits('0xffffu'),
            this.#write('i >> 1u', 'y.x | (y.y << 16u)'),
            this.#write('(i >> 1u) + 1u', 'y.z | (y.w << 16u)'),
          ];
        default:
          return [...components].map((lane, k) => this.store(`i + ${k}u`, `x.${lane}`));
      }
    })();
    const body = statements.join('\n  ');
    return `${this.call('k_store_4', `(i: u32, x: ${this.vector})`, body, index, value)};`;
  }

  /** Other invocations store other parts of the same word, perhaps at the same time. */
  get #narrowStore(): string {
    const [shift, parts, bits, mask] = this.storage === 'u16' ? [1, '1u', 16, '0xffffu'] : [2, '3u', 8, '0xffu']; // prettier-ignore
    const word = `&${this.#array}[i >> ${shift}u]`;
    return `let shift = (i & ${parts}) * ${bits}u;
  atomicAnd(${word}, ~(${mask} << shift));
  atomicOr(${word}, (bitcast<u32>(x) & ${mask}) << shift);`;
  }

  get #isNarrow(): boolean {
    return this.storage !== 'f32' && this.storage !== 'i32';
  }

  #word(index: string): string {
    if (this.#isOfVectors) {
      const name = `k_word_${this.#array}`;
      const define = `fn ${name}(i: u32) -> u32 {\n  return ${this.#array}[i >> 2u][i & 3u];\n}`;
      return `${this.helpers.define(name, define)}(${index})`;
    }
    const word = `${this.#array}[${index}]`;
    return this.#isAtomic ? `atomicLoad(&${word})` : word;
  }

  #write(index: string, value: string): string {
    const word = `${this.#array}[${index}]`;
    return this.#isAtomic ? `atomicStore(&${word}, ${value});` : `${word} = ${value};`;
  }
}

/** Name of a binding. */
export function bindingName(binding: number): string {
  return `words${binding}`;
}
