/*
 * What code that becomes the text of a thread uses of where it runs. Only types: the text is complete in
 * itself.
 */

/** A source of messages, in Node or in a browser. */
export interface MessageSource<M> {
  on?(kind: 'message', hear: (message: M) => void): void;
  addEventListener?(kind: 'message', hear: (event: { readonly data: M }) => void): void;
}

/** The global object of a thread. `require` exists in code that Node evaluates from text. */
export interface Host<M> extends MessageSource<M> {
  readonly process?: { getBuiltinModule?(name: string): unknown };
  readonly require?: (name: string) => unknown;
}

/** The part of `node:worker_threads` that a thread needs. */
export interface NodeThreads<M> {
  readonly parentPort: MessageSource<M>;
}
