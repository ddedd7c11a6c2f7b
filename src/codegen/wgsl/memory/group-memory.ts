import { storageBytes } from '../../../loop/language/build.js';
import type { WorkgroupMemory } from '../../../loop/language/nodes.js';
import { ElementText } from './elements.js';
import type { ShaderFunctions } from '../functions/helpers.js';
import { gridLanes } from '../../../loop/language/team.js';
import type { BufferUse } from './vector-access.js';

/** Reads and writes of memory of a workgroup; elements of 64 bits are pairs of words. */
export class GroupMemoryText extends ElementText {
  readonly #name: string;
  readonly #length: number;
  /** True for an array of vectors, where nothing stores to less. */
  readonly #isOfVectors: boolean;

  constructor(
    name: string,
    { buffer: { storage }, length }: WorkgroupMemory,
    { hasVectors, hasScalarStores }: BufferUse,
    helpers: ShaderFunctions,
  ) {
    super(storage, helpers, name, 'i32');
    this.#name = name;
    this.#length = length;
    this.#isOfVectors = length % gridLanes === 0 && hasVectors && !hasScalarStores;
  }

  get declaration(): string {
    const isPair = storageBytes(this.storage) === 8;
    const [type, count] = this.#isOfVectors
      ? [this.vector, this.#length / gridLanes]
      : [isPair ? 'vec2<u32>' : this.storage, this.#length];
    return `var<workgroup> ${this.#name}: array<${type}, ${count}>;`;
  }

  load(index: string): string {
    if (!this.#isOfVectors) return `${this.#name}[${index}]`;
    const element = `return ${this.#name}[i >> 2u][i & 3i];`;
    return this.call('k_load', `(i: i32) -> ${this.storage}`, element, index);
  }

  store(index: string, value: string): string {
    return `${this.#name}[${index}] = ${value};`;
  }

  loadVector(index: string): string {
    return this.#isOfVectors ? `${this.#name}[(${index}) >> 2u]` : this.gather(neighbors(index));
  }

  storeVector(index: string, value: string): string {
    if (this.#isOfVectors) return `${this.#name}[(${index}) >> 2u] = ${value};`;
    return this.scatter(neighbors(index), value);
  }
}

function neighbors(index: string): string {
  return `(vec4<i32>(${index}) + vec4<i32>(0i, 1i, 2i, 3i))`;
}
