import type { meeting } from '../../loop/team.js';
import type { control, gateBits, workerWords } from './control.js';

/** What a worker makes the entry of a program from. It can be posted. */
export type EntryRecipe =
  | { readonly kind: 'wasm'; readonly module: WebAssembly.Module }
  | {
      readonly kind: 'native';
      /** The file of the shared library, and the function in it. */
      readonly library: string;
      readonly symbol: string;
      /** A file of this package, from which the loader of libraries is found. */
      readonly from: string;
    };

/** Runs the `main` of a program as one thread of a team. */
export type TeamEntry = (table: number, thread: number, threads: number) => void;

/** What is posted to workers. */
export type WorkerMessage =
  | {
      readonly kind: 'start';
      readonly memory: WebAssembly.Memory;
      /** The address of the control block, and the number of the worker, from 0. */
      readonly base: number;
      readonly worker: number;
      readonly layout: WorkerLayout;
    }
  | { readonly kind: 'program'; readonly id: number; readonly recipe: EntryRecipe }
  | { readonly kind: 'forget'; readonly id: number };

/** All that a worker has to know and cannot import. */
export interface WorkerLayout {
  readonly control: typeof control;
  readonly own: typeof workerWords;
  readonly gate: typeof gateBits;
  readonly meeting: typeof meeting;
  readonly mainName: string;
  /** How long a worker looks for work before it sleeps, in milliseconds. */
  readonly awake: number;
}
