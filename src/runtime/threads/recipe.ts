import type { AddressScalar } from '../../loop/language/target.js';
import type { meeting } from '../../loop/language/team.js';
import type { controlWords, gateBits, workerWords } from './control.js';

/** Recipe from which a worker makes the entry of a program. It can be posted. */
export type EntryRecipe =
  | {
      readonly kind: 'wasm';
      readonly module: WebAssembly.Module;
      /** Type of the memory's addresses, of which `main` takes some. */
      readonly addresses: AddressScalar;
    }
  | {
      readonly kind: 'native';
      /** The file of the shared library, and the function in it. */
      readonly library: string;
      readonly symbol: string;
      /** A file of this package, from which the loader of libraries is resolved. */
      readonly from: string;
    };

/** Runs the `main` of a program as one thread of a team. */
export type TeamEntry = (table: number, thread: number, threads: number) => void;

/** Constants for workers and the watchdog, which cannot import. */
export interface WorkerConstants {
  readonly control: typeof controlWords;
  readonly own: typeof workerWords;
  readonly gate: typeof gateBits;
  readonly meeting: typeof meeting;
  readonly mainName: string;
  /** Milliseconds that a worker spins before it sleeps. */
  readonly awake: number;
}

/** The shared memory of the threads. */
export interface SharedGround {
  readonly memory: WebAssembly.Memory;
  /** The address of the control block. */
  readonly base: number;
  readonly layout: WorkerConstants;
}

/** Messages to workers. */
export type WorkerMessage =
  | {
      readonly kind: 'start';
      readonly ground: SharedGround;
      /** The number of the worker. */
      readonly worker: number;
      /** Closes when the worker dies: the watchdog has the other end. */
      readonly life: MessagePort;
    }
  | { readonly kind: 'program'; readonly id: number; readonly recipe: EntryRecipe }
  | { readonly kind: 'forget'; readonly id: number };

/** Messages to the watchdog. */
export type WatchdogMessage =
  | { readonly kind: 'start'; readonly ground: SharedGround }
  | { readonly kind: 'watch'; readonly worker: number; readonly life: MessagePort };
