import type { PackageStart } from './adapter.js';
import type { BufferRange, PipelineDescription } from './commands.js';

/**
 * Layout of the memory that a worker shares with whoever commands it, in words. Lengths of texts are 0 where there is
 * none; a text is in UTF-16 code units, one a word.
 */
export const sharedWords = {
  /** Questions that have been answered. */
  answered: 0,
  /** Messages that have been carried out. */
  finished: 1,
  /** Submits of the GPU's queue so far. */
  submits: 2,
  /** Length of the text of what failed, when a question was answered. */
  failed: 3,
  /** Length of the reason why the GPU was lost. */
  lost: 4,
  /** Length of the reason why the worker has ended, where it could tell. */
  ended: 5,
  /** 1 when the watcher has found the worker dead. */
  dead: 6,
  /** 1 when the process ends: what has not begun is not carried out. */
  ending: 7,
  /** 1 when the worker sleeps for good. */
  asleep: 8,
  texts: { failed: 9, lost: 1033, ended: 2057 },
  mostCharacters: 1024,
  words: 3081,
} as const;

/** Kinds of commands, in the first of their words. Positions and lengths in buffers are in words. */
export const commandCodes = {
  /** buffer, length */
  create: 0,
  /** buffer */
  destroy: 1,
  /** pipeline, and a description beside the words */
  pipeline: 2,
  /** pipeline, groups, number of buffers, number of uniforms, buffers, uniforms */
  dispatch: 3,
  /** pipeline, groups, number of buffers, number of uniforms, buffer, position, buffers, uniforms */
  dispatchIndirect: 10,
  /** buffer, position, length, elements */
  write: 4,
  /** buffer, position, and bytes beside the words */
  writeMany: 5,
  /** source, position, target, position, length */
  copy: 6,
  /** nothing, with parts and memory for the answer beside the words */
  read: 7,
  /** nothing */
  synchronize: 8,
  /** nothing */
  lose: 9,
  /** nothing */
  startTiming: 11,
  /** nothing, with memory for pairs of float64 beside the words */
  stopTiming: 12,
  /** nothing, with a description and memory for one word of the answer beside the words */
  accepts: 13,
} as const;

/** Something that does not go into words. */
export type Attachment =
  PipelineDescription | readonly BufferRange[] | Uint8Array | SharedArrayBuffer;

/** A message to the worker of a GPU. */
export type GpuMessage =
  | {
      readonly kind: 'start';
      readonly memory: SharedArrayBuffer;
      readonly words: typeof sharedWords;
      readonly commandCodes: typeof commandCodes;
      /** The package that has WebGPU; null where the engine has it. */
      readonly from: PackageStart | null;
      /** Held by the worker for as long as it lives; the watcher has the other end. */
      readonly life: MessagePort;
    }
  | {
      readonly kind: 'commands';
      readonly commands: Uint32Array;
      /** In the order of the commands that take them. */
      readonly attachments: readonly Attachment[];
    }
  /** The process ends. */
  | { readonly kind: 'end' };
