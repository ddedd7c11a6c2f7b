import { InternalError } from '../../base/errors.js';
import { storageBytes } from '../../loop/language/build.js';
import type { ElementKind, Kernel } from '../../loop/language/nodes.js';
import type { BindingPattern, ShaderBinding, ShaderParameter } from './shader.js';
import { type BindingElements, bindingName } from './memory/bound-memory.js';
import { components } from './memory/elements.js';
import type { VectorAccesses } from './memory/vector-access.js';

/** Places of a kernel's arguments: words of the uniform block, and bindings. */
export interface ShaderLayout extends BindingElements {
  readonly parameters: readonly ShaderParameter[];
  readonly bindings: readonly ShaderBinding[];
  readonly zeroWord: number;
  readonly groupsWord: number;
  readonly uniformWords: number;
}

/**
 * Every binding is an array of 32-bit words, since buffers of several kinds may share one. Memory of members is a
 * binding of its own behind all others.
 */
export function shaderLayout(
  kernel: Kernel,
  { memories }: BindingPattern,
  accesses: VectorAccesses,
): ShaderLayout {
  const shared = 1 + Math.max(-1, ...memories);
  let words = 0;
  let buffers = 0;
  const written = new Set<number>();
  const atomic = new Set<number>();
  const vectors = new Set<number>();
  /** Bindings with stores of less than four words. */
  const scalars = new Set<number>();
  const parameters = kernel.params.map((param): ShaderParameter => {
    const word = words;
    if (param.kind === 'var') {
      const { scalar } = param.type;
      words += scalar === 'i64' || scalar === 'f64' ? 2 : 1;
      return { kind: 'number', scalar, word };
    }
    const { storage } = param;
    const { isRead, isStored, hasVectors, hasScalarStores } = accesses.useOf(param);
    if (param.isPrivate && !isRead && !isStored) return { kind: 'locals' };
    const binding = param.isPrivate ? shared : memories[buffers++];
    if (binding === undefined) {
      throw new InternalError(`kernel ${kernel.name} has more buffers than its pattern`);
    }
    const isWord = storageBytes(storage) === 4;
    if (isStored) written.add(binding);
    if (hasVectors && isWord) vectors.add(binding);
    if (hasScalarStores || (isStored && !isWord)) scalars.add(binding);
    if (hasScalarStores && sharesWord(storage)) atomic.add(binding);
    words += param.isPrivate ? 2 : 1;
    if (!param.isPrivate) return { kind: 'elements', storage, binding, word };
    return { kind: 'private', storage, binding, word, membersWord: word + 1 };
  });
  const hasPrivate = parameters.some(({ kind }) => kind === 'private');
  const bindings = Array.from({ length: shared + Number(hasPrivate) }, (_, binding) => ({
    access: written.has(binding) ? ('read_write' as const) : ('read' as const),
  }));
  const [zeroWord, groupsWord] = [words, words + 1];
  const uniformWords = Math.ceil((words + 2) / 4) * 4;
  for (const binding of scalars) vectors.delete(binding);
  return { parameters, bindings, atomic, vectors, zeroWord, groupsWord, uniformWords };
}

/** True for elements of which several share a word. */
function sharesWord(storage: ElementKind): boolean {
  return storage === 'i8' || storage === 'u8' || storage === 'u16';
}

/** The declarations of all bindings, the uniform block first. */
export function bindingTexts(layout: ShaderLayout): readonly string[] {
  const { bindings, uniformWords, atomic, vectors } = layout;
  const block = `@group(0) @binding(0) var<uniform> numbers: array<vec4<u32>, ${uniformWords / 4}>;`;
  const buffers = bindings.map(({ access }, binding) => {
    const word = atomic.has(binding) ? 'atomic<u32>' : 'u32';
    const element = vectors.has(binding) ? 'vec4<u32>' : word;
    return `@group(0) @binding(${binding + 1}) var<storage, ${access}> ${bindingName(binding)}: array<${element}>;`;
  });
  return [block, ...buffers];
}

/** A word of the uniform block. */
export function uniformText(word: number): string {
  return `numbers[${Math.floor(word / 4)}].${components[word % 4]}`;
}
