import { loadedScalar } from '../../../loop/language/build.js';
import type { ElementKind } from '../../../loop/language/nodes.js';
import type { ShaderFunctions } from '../functions/helpers.js';
import { gridLanes } from '../../../loop/language/team.js';
import { wgslType } from '../functions/types.js';

/** Components of a vector. */
export const components = 'xyzw';

/** Reads and writes of elements of one kind, of which one or four are taken at once. */
export abstract class ElementText {
  readonly storage: ElementKind;
  protected readonly helpers: ShaderFunctions;
  /** End of the names of functions. */
  readonly #suffix: string;
  readonly #indexType: 'u32' | 'i32';

  constructor(
    storage: ElementKind,
    helpers: ShaderFunctions,
    suffix: string,
    indexType: 'u32' | 'i32',
  ) {
    this.storage = storage;
    this.helpers = helpers;
    this.#suffix = suffix;
    this.#indexType = indexType;
  }

  abstract load(index: string): string;

  /** A statement that stores a value. */
  abstract store(index: string, value: string): string;

  /** Four neighbors from an index on that is a multiple of four. */
  abstract loadVector(index: string): string;

  abstract storeVector(index: string, value: string): string;

  /** Four elements anywhere; `index` is a vector. */
  gather(index: string): string {
    const elements = [...components].map((lane) => this.load(`i.${lane}`)).join(', ');
    const vector = `vec4<${this.#indexType}>`;
    return this.call('k_gather', `(i: ${vector}) -> ${this.vector}`, `return ${this.vector}(${elements});`, index); // prettier-ignore
  }

  /** A statement that stores four elements anywhere, in the order of lanes; `index` is a vector. */
  scatter(index: string, value: string): string {
    const stores = [...components].map((lane) => this.store(`i.${lane}`, `x.${lane}`));
    const vector = `vec4<${this.#indexType}>`;
    return `${this.call('k_scatter', `(i: ${vector}, x: ${this.vector})`, stores.join('\n  '), index, value)};`;
  }

  /** Type of four elements. */
  protected get vector(): string {
    return wgslType(loadedScalar(this.storage) === 'f32' ? 'f32' : 'i32', gridLanes);
  }

  /** A call of a function of this memory. */
  protected call(name: string, signature: string, body: string, ...args: string[]): string {
    const full = `${name}_${this.#suffix}`;
    const define = `fn ${full}${signature} {\n  ${body}\n}`;
    return `${this.helpers.define(full, define)}(${args.join(', ')})`;
  }
}
