/** Kernels that do the same at the same place of the user's code. */
export interface ProfiledKernel {
  /** The operators that it computes, such as `matmul + add + relu`. */
  readonly name: string;
  /** The user's line, where captured code knows it; null for eager calls. */
  readonly source: string | null;
  /** Inputs of captured code that it reads, such as the parameter `layers.0.weight`. */
  readonly reads: readonly string[];
  /** `cpu (wasm)`, `cpu (native)`, `webgpu` or the name of another device or engine. */
  readonly device: string;
  readonly calls: number;
  /** Time of all calls. */
  readonly milliseconds: number;
  /**
   * Bytes that all calls move when everything that they read or write goes through memory once; null where sizes that
   * the data decides are unknown, and where the whole program counts as one kernel.
   */
  readonly bytes: number | null;
}

/** Operators that were called one by one, by name. A captured function that is called is one `call`. */
export interface ProfiledOperator {
  readonly name: string;
  readonly calls: number;
  /** Time of the host in all calls; on the CPU that of their kernels, too. */
  readonly milliseconds: number;
}
