import type { Buffer, Expr, Load, Ramp, WorkgroupMemory } from '../../loop/language/nodes.js';
import type { ShaderFunctions } from './functions/helpers.js';
import { type ShaderLayout, uniformText } from './layout.js';
import { BoundMemory } from './memory/bound-memory.js';
import type { ElementText } from './memory/elements.js';
import { GroupMemoryText } from './memory/group-memory.js';
import type { VectorAccesses } from './memory/vector-access.js';
import type { ShaderParameter } from './shader.js';

/** A buffer in its binding, and the variable with the number of its first element. */
interface BoundBuffer {
  readonly memory: BoundMemory;
  readonly first: string;
  /** The distance of its elements; null for neighbors. */
  readonly distance: string | null;
}

/** Reads and writes of a kernel's buffers, as text. */
export class BufferTexts {
  readonly #layout: ShaderLayout;
  readonly #accesses: VectorAccesses;
  readonly #helpers: ShaderFunctions;
  readonly #text: (expr: Expr) => string;
  readonly #groupMemory: Map<Buffer, GroupMemoryText> = new Map();
  readonly #bound: Map<Buffer, BoundBuffer> = new Map();

  /** `text` prints expressions. */
  constructor(
    layout: ShaderLayout,
    accesses: VectorAccesses,
    helpers: ShaderFunctions,
    text: (expr: Expr) => string,
  ) {
    this.#layout = layout;
    this.#accesses = accesses;
    this.#helpers = helpers;
    this.#text = text;
  }

  /** Adds memory of the workgroup. */
  share(memory: WorkgroupMemory, name: string): void {
    const use = this.#accesses.useOf(memory.buffer);
    this.#groupMemory.set(memory.buffer, new GroupMemoryText(name, memory, use, this.#helpers));
  }

  /** Adds a parameter whose first element a variable tells. */
  bind(
    buffer: Buffer,
    place: Extract<ShaderParameter, { readonly kind: 'elements' | 'private' }>,
    first: string,
  ): void {
    const memory = new BoundMemory(place.storage, place.binding, this.#layout, this.#helpers);
    const distance = place.kind === 'private' ? uniformText(place.membersWord) : null;
    this.#bound.set(buffer, { memory, first, distance });
  }

  /** Declarations of the memory of the workgroup. */
  get declarations(): readonly string[] {
    return [...this.#groupMemory.values()].map(({ declaration }) => declaration);
  }

  /** The part of an index that is computed: the first of neighbors that are accessed at once. */
  computed(buffer: Buffer, index: Expr): Expr {
    return this.#accesses.isWhole(buffer, index) ? (index as Ramp).base : index;
  }

  load({ buffer, index }: Load): string {
    const memory = this.#memoryOf(buffer);
    const place = this.#place(buffer, this.computed(buffer, index));
    if (index.type.lanes === 1) return memory.load(place);
    return this.#accesses.isWhole(buffer, index) ? memory.loadVector(place) : memory.gather(place);
  }

  /** A statement that stores a value. */
  store(buffer: Buffer, index: Expr, value: string): string {
    const memory = this.#memoryOf(buffer);
    const place = this.#place(buffer, this.computed(buffer, index));
    if (index.type.lanes === 1) return memory.store(place, value);
    return this.#accesses.isWhole(buffer, index)
      ? memory.storeVector(place, value)
      : memory.scatter(place, value);
  }

  #memoryOf(buffer: Buffer): ElementText {
    return this.#groupMemory.get(buffer) ?? this.#bound.get(buffer)!.memory;
  }

  /** The number of an element in memory of the workgroup, or of its kind in its binding. */
  #place(buffer: Buffer, index: Expr): string {
    if (this.#groupMemory.has(buffer)) return this.#text(index);
    const { first, distance } = this.#bound.get(buffer)!;
    const times = distance === null ? '' : ` * ${distance}`;
    if (index.type.lanes > 1) {
      return `vec4<u32>(${first}) + vec4<u32>(${this.#text(index)})${times}`;
    }
    if (index.type.scalar === 'i64') return `${first} + ${this.#text(index)}.x${times}`;
    if (index.kind !== 'const') return `${first} + u32(${this.#text(index)})${times}`;
    return index.value === 0 ? first : `${first} + ${index.value}u${times}`;
  }
}
