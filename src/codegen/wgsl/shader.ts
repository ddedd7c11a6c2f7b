import type { ElementKind } from '../../loop/language/nodes.js';

/*
 * Kernels as compute shaders. A device hands a launch the arguments of the kernel's parameters, in order; what a shader
 * says of them is all that a device has to know of its text.
 */

/**
 * Arguments that share a buffer. Bindings are declared once for each buffer, since no buffer may be bound twice in a
 * dispatch that writes to it. Where elements begin is an argument, so that any element may be the first.
 */
export interface BindingPattern {
  /**
   * The number of the memory of the k-th parameter that is a shared buffer, in the order of their first appearance (so
   * `[0, 1, 0]` for a kernel that reads and writes one memory and reads another).
   */
  readonly memories: readonly number[];
  /** True where the elements of all buffers begin at multiples of `vectorAlignment`: four of them are read at once. */
  readonly isAligned: boolean;
}

/** Alignment of buffers of which shaders read and write four neighboring elements at once. */
export const vectorAlignment = 16;

/** Properties of a device that the text of a shader depends on. */
export interface ShaderFeatures {
  readonly maxWorkgroupInvocations: number;
  readonly maxWorkgroupsPerDimension: number;
  /** Storage buffers that one shader may use. */
  readonly maxStorageBuffers: number;
}

/** Place of an argument in the uniform block of a shader, which is an array of 32-bit words. */
export type ShaderParameter =
  /** A number: one word, or two for 64 bits, of which the low one comes first. */
  | { readonly kind: 'number'; readonly scalar: 'i32' | 'i64' | 'f32' | 'f64' | 'bool'; readonly word: number }
  /** Elements of a buffer, from the element that the word says on. */
  | {
      readonly kind: 'elements';
      readonly storage: ElementKind;
      readonly binding: number;
      readonly word: number;
    }
  /**
   * Memory of each member of the team, in a buffer of the device's choice: the words say the element at which it begins
   * and how many members there are. Elements of one number lie beside each other, since neighbors use them at a time.
   */
  | {
      readonly kind: 'private';
      readonly storage: ElementKind;
      readonly binding: number;
      readonly word: number;
      readonly membersWord: number;
    }
  /** Memory of each member that has become locals. */
  | { readonly kind: 'locals' }; // prettier-ignore

/** A binding of a shader: group 0, in order; the uniform block is binding 0 and buffers follow. */
export interface ShaderBinding {
  readonly access: 'read' | 'read_write';
}

/** A kernel as a WGSL module whose entry point is `main`. */
export interface Shader {
  readonly text: string;
  /** By parameter of the kernel. */
  readonly parameters: readonly ShaderParameter[];
  /** Of buffers, those of private memory included. */
  readonly bindings: readonly ShaderBinding[];
  /** Words of the uniform block; a multiple of 4. */
  readonly uniformWords: number;
  /**
   * Words that the shader wants to be zero although it cannot know: a driver may reorder float arithmetic unless a
   * value comes from memory. Null where it needs none.
   */
  readonly zeroWord: number | null;
  /** Words with the number of workgroups along the first dimension, for more groups than one dimension has. */
  readonly groupsWord: number;
  readonly workgroupSize: number;
  /**
   * Workgroups of a launch with these numbers (by parameter; undefined for buffers): as many as there is work for, but
   * no more than `most`. At least 1.
   */
  workgroups(numbers: readonly (number | undefined)[], most: number): number;
}
