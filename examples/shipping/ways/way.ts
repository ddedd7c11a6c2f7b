import type { Results } from '../compare.js';
import type { Form } from '../forms.js';
import type { Shipped } from '../shipped.js';

/** A way to execute a model from its files. */
export interface Way {
  /** As a column is headed. */
  readonly name: string;
  /** What it executes. */
  readonly form: Form;
  /** What it is, with its version, where it can be used here; otherwise why it cannot. */
  available(): Promise<Availability>;
  /** Executes the files of a model in a folder, one run after the other. */
  execute(model: Shipped, folder: string): Promise<readonly Results[]>;
}

export type Availability =
  { readonly what: string; readonly missing?: undefined } | { readonly missing: string };
