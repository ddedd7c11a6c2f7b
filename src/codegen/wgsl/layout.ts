import { InternalError } from '../../base/errors.js';
import { storageBytes } from '../../loop/language/build.js';
import type { ElementKind, Kernel } from '../../loop/language/nodes.js';
import type { BindingPattern, ShaderBinding, ShaderParameter } from './shader.js';
import type { VectorAccesses } from './vector-access.js';

/** Places of a kernel's arguments: words of the uniform block, and bindings. */
export interface ShaderLayout {
  readonly parameters: readonly ShaderParameter[];
  readonly bindings: readonly ShaderBinding[];
  /** Bindings whose words several invocations store parts of. */
  readonly atomic: ReadonlySet<number>;
  /** Bindings that are arrays of vectors of four words, since nothing stores to less. */
  readonly vectors: ReadonlySet<number>;
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
    const binding = param.isPrivate ? shared : memories[buffers++];
    if (binding === undefined) {
      throw new InternalError(`kernel ${kernel.name} has more buffers than its pattern`);
    }
    const { isStored, hasVectors, hasScalarStores } = accesses.useOf(param);
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
export function sharesWord(storage: ElementKind): boolean {
  return storage === 'i8' || storage === 'u8' || storage === 'u16';
}
