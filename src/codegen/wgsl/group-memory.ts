import { storageBytes } from '../../loop/language/build.js';
import type { Buffer, Kernel, WorkgroupMemory } from '../../loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../loop/language/visit.js';
import { ElementText } from './elements.js';
import type { ShaderFunctions } from './helpers.js';
import type { ShaderLayout } from './layout.js';
import { shaderLanes } from './types.js';
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
    this.#isOfVectors = length % shaderLanes === 0 && hasVectors && !hasScalarStores;
  }

  get declaration(): string {
    const isPair = storageBytes(this.storage) === 8;
    const [type, count] = this.#isOfVectors
      ? [this.vector, this.#length / shaderLanes]
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

/** The barrier of a kernel's workgroups, for the memory by which its invocations tell each other something. */
export function groupBarrier(kernel: Kernel, { parameters }: ShaderLayout): string {
  const bindingOf = new Map<Buffer, number>();
  kernel.params.forEach((param, k) => {
    const place = parameters[k];
    if (param.kind === 'buffer' && place.kind === 'elements') bindingOf.set(param, place.binding);
  });
  const stored = new Set<number>();
  const loaded = new Set<number>();
  const note = (into: Set<number>, buffer: Buffer): void => {
    const binding = bindingOf.get(buffer);
    if (binding !== undefined) into.add(binding);
  };
  visitStmts(kernel.body, (stmt) => {
    if (stmt.kind === 'store') note(stored, stmt.buffer);
    visitExprs(ownExprs(stmt), (expr) => {
      if (expr.kind === 'load') note(loaded, expr.buffer);
    });
  });
  const isShared = [...stored].some((binding) => loaded.has(binding));
  return isShared ? 'storageBarrier(); workgroupBarrier();' : 'workgroupBarrier();';
}
