export type AddressScalar = 'i32' | 'i64';

/** Properties of the processor and compiler that a schedule may depend on. */
export interface Target {
  /** For people, and for keys of what is kept: `wasm`, `avx512`, ... */
  readonly name: string;
  /** Bytes of one vector register. */
  readonly vectorBytes: number;
  /** Vector registers that the compiler behind this one hands out in one loop. */
  readonly vectorRegisters: number;
  /** True where adding a product to a variable (`sum = sum + a * b`) is one instruction, which rounds once. */
  readonly fusesMultiplyAdd: boolean;
  /** Steps along `k` in one iteration of a product's innermost loop, where the compiler gains by more than one. */
  readonly productSteps: number;
  /** Bytes of data that the caches of one core hold. */
  readonly firstCache: number;
  readonly secondCache: number;
  /** The most bytes of a product's right operand that many rows read where it is, rather than from panels. */
  readonly inPlace: number;
  /**
   * True where a parallel range has a thread for each of its steps, and neighboring threads do best with neighboring
   * elements: all independent loops of a nest are one range of single steps. Default false: one of them is a range, in
   * steps that are worth a thread.
   */
  readonly isGrid?: boolean;
  /** True where each operation of f64 is many of 32 bits. Default false. */
  readonly emulatesFloat64?: boolean;
  /** Type of byte addresses in `main`: unsigned 32 bits, for memory of at most 4 GiB, or 64. */
  readonly addresses: AddressScalar;
}

/** WebAssembly with SIMD and nothing else: on x64, V8 hands out 15 of 16 registers (decision 4). */
export const wasmTarget: Target = {
  name: 'wasm',
  vectorBytes: 16,
  vectorRegisters: 15,
  fusesMultiplyAdd: false,
  productSteps: 1,
  firstCache: 2 ** 15,
  secondCache: 2 ** 20,
  inPlace: 2 ** 19,
  addresses: 'i32',
};

/** WebAssembly with relaxed SIMD. */
export const relaxedWasmTarget: Target = {
  ...wasmTarget,
  name: 'wasm-relaxed',
  fusesMultiplyAdd: true,
  // V8 computes an address for each load from memory to all lanes, and looks for interrupts in each iteration.
  productSteps: 4,
};

/** x64 with AVX-512, as in servers. */
export const avx512Target: Target = {
  name: 'avx512',
  vectorBytes: 64,
  vectorRegisters: 32,
  fusesMultiplyAdd: true,
  productSteps: 1,
  firstCache: 48 * 2 ** 10,
  secondCache: 2 ** 21,
  inPlace: 2 ** 20,
  addresses: 'i32',
};

/** x64 with AVX2 and the multiply-add that came with it. */
export const avx2Target: Target = {
  name: 'avx2',
  vectorBytes: 32,
  vectorRegisters: 16,
  fusesMultiplyAdd: true,
  productSteps: 1,
  firstCache: 2 ** 15,
  secondCache: 2 ** 19,
  inPlace: 2 ** 15,
  addresses: 'i32',
};

/** 64-bit ARM. */
export const neonTarget: Target = {
  name: 'neon',
  vectorBytes: 16,
  vectorRegisters: 32,
  fusesMultiplyAdd: true,
  productSteps: 1,
  firstCache: 2 ** 15,
  secondCache: 2 ** 20,
  inPlace: 2 ** 19,
  addresses: 'i32',
};
