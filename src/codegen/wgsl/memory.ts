import type { ElementKind } from '../../loop/language/nodes.js';
import type { ShaderFunctions } from './helpers.js';
import type { ShaderLayout } from './layout.js';

/** Reads and writes of elements in arrays of words. */
export class MemoryText {
  readonly #helpers: ShaderFunctions;
  readonly #layout: ShaderLayout;

  constructor(helpers: ShaderFunctions, layout: ShaderLayout) {
    this.#helpers = helpers;
    this.#layout = layout;
  }

  /** The declarations of all bindings, the uniform block first. */
  declarations(): readonly string[] {
    const { bindings, uniformWords, atomic } = this.#layout;
    const block = `@group(0) @binding(0) var<uniform> numbers: array<vec4<u32>, ${uniformWords / 4}>;`;
    const buffers = bindings.map(({ access }, binding) => {
      const element = atomic.has(binding) ? 'atomic<u32>' : 'u32';
      return `@group(0) @binding(${binding + 1}) var<storage, ${access}> ${arrayOf(binding)}: array<${element}>;`;
    });
    return [block, ...buffers];
  }

  /** A word of the uniform block. */
  number(word: number): string {
    return `numbers[${Math.floor(word / 4)}].${'xyzw'[word % 4]}`;
  }

  load(storage: ElementKind, binding: number, index: string): string {
    switch (storage) {
      case 'i32':
      case 'f32':
        return `bitcast<${storage}>(${this.#word(binding, index)})`;
      default: {
        const name = `k_load_${storage}_${binding}`;
        const [type, text] = this.#loaded(storage, binding);
        const define = `fn ${name}(i: u32) -> ${type} {\n  return ${text};\n}`;
        return `${this.#helpers.define(name, define)}(${index})`;
      }
    }
  }

  #loaded(storage: ElementKind, binding: number): readonly [type: string, text: string] {
    const word = (index: string): string => this.#word(binding, index);
    switch (storage) {
      case 'i64':
      case 'f64':
        return ['vec2<u32>', `vec2<u32>(${word('2u * i')}, ${word('2u * i + 1u')})`];
      case 'i8':
        return ['i32', `bitcast<i32>(${word('i >> 2u')} << (24u - (i & 3u) * 8u)) >> 24u`];
      case 'u8':
        return ['i32', `bitcast<i32>((${word('i >> 2u')} >> ((i & 3u) * 8u)) & 0xffu)`];
      default:
        return ['i32', `bitcast<i32>((${word('i >> 1u')} >> ((i & 1u) * 16u)) & 0xffffu)`];
    }
  }

  /** A statement that stores a value. */
  store(storage: ElementKind, binding: number, index: string, value: string): string {
    switch (storage) {
      case 'i32':
      case 'f32':
        return this.#write(binding, index, `bitcast<u32>(${value})`);
      case 'i64':
      case 'f64': {
        const name = `k_store_${storage}_${binding}`;
        const [low, high] = ['2u * i', '2u * i + 1u'].map((at, k) => this.#write(binding, at, `x.${'xy'[k]}`)); // prettier-ignore
        const define = `fn ${name}(i: u32, x: vec2<u32>) {\n  ${low}\n  ${high}\n}`;
        return `${this.#helpers.define(name, define)}(${index}, ${value});`;
      }
      default: {
        const name = `k_store_${storage}_${binding}`;
        return `${this.#helpers.define(name, this.#narrowStore(name, storage, binding))}(${index}, ${value});`;
      }
    }
  }

  /** Other invocations store other parts of the same word, perhaps at the same time. */
  #narrowStore(name: string, storage: ElementKind, binding: number): string {
    const [shift, parts, bits, mask] = storage === 'u16' ? [1, '1u', 16, '0xffffu'] : [2, '3u', 8, '0xffu']; // prettier-ignore
    const word = `&${arrayOf(binding)}[i >> ${shift}u]`;
    return `fn ${name}(i: u32, x: i32) {
  let shift = (i & ${parts}) * ${bits}u;
  atomicAnd(${word}, ~(${mask} << shift));
  atomicOr(${word}, (bitcast<u32>(x) & ${mask}) << shift);
}`;
  }

  #word(binding: number, index: string): string {
    const word = `${arrayOf(binding)}[${index}]`;
    return this.#layout.atomic.has(binding) ? `atomicLoad(&${word})` : word;
  }

  #write(binding: number, index: string, value: string): string {
    const word = `${arrayOf(binding)}[${index}]`;
    return this.#layout.atomic.has(binding) ? `atomicStore(&${word}, ${value});` : `${word} = ${value};`; // prettier-ignore
  }
}

function arrayOf(binding: number): string {
  return `words${binding}`;
}
