import { DeviceError, InternalError } from '../../base/errors.js';
import type { Kernel, Module } from '../../loop/language/nodes.js';
import type { AddressScalar } from '../../loop/language/target.js';
import { ByteWriter } from './encoding/bytes.js';
import { encodeKernel, type KernelOptions, parameterTypes } from './kernel.js';
import { typeCodes, type ValueType } from './encoding/opcodes.js';

export interface WasmOptions {
  /**
   * Allow accumulations of vectors to round once: relaxed SIMD, where it validates (`supportsRelaxed`).
   * Default false.
   */
  readonly relaxed?: boolean;
  /** Imports a shared memory, for threads. Default false. */
  readonly shared?: boolean;
  /** Type of the imported memory's addresses: `i64` where the engine has such memory. Default `i32`. */
  readonly addresses?: AddressScalar;
}

/** An exported kernel. i64 parameters are bigint; addresses of buffers are numbers unless they have 64 bits. */
export type WasmKernel = (...args: readonly (number | bigint)[]) => void;

const section = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;

type Types = readonly ValueType[];

/** The most pages (of 64 KiB) that a shared memory may have: engines have no more than these for 64 bits. */
const mostPages: Readonly<Record<AddressScalar, number>> = { i32: 2 ** 16, i64: 2 ** 18 };

/** Flags of an imported memory. */
const limits = { none: 0, sharedWithMaximum: 3, wide: 4 } as const;

/**
 * A loop IR module as a WebAssembly module. It imports `env.memory` and external kernels from `env`, and exports every
 * other kernel under its name. Buffer parameters are byte addresses of at least `reservedBytes`, bool ones are i32.
 */
export function encodeModule(module: Module, options: WasmOptions = {}): Uint8Array<ArrayBuffer> {
  const imported = module.kernels.filter(({ isExternal }) => isExternal);
  const kernels = module.kernels.filter(({ isExternal }) => !isExternal);
  const { relaxed = false, shared = false, addresses = 'i32' } = options;
  const functions = new Map<Kernel, number>();
  for (const kernel of [...imported, ...kernels]) functions.set(kernel, functions.size);
  const functionOf = (kernel: Kernel): number => {
    const index = functions.get(kernel);
    if (index === undefined)
      throw new InternalError(`wasm: kernel ${kernel.name} is not in the module`);
    return index;
  };
  const signatures = new Map<string, { readonly index: number; readonly types: Types }>();
  const signatureOf = (kernel: Kernel): number => {
    const types = parameterTypes(kernel, addresses);
    const key = types.join();
    const signature = signatures.get(key) ?? { index: signatures.size, types };
    signatures.set(key, signature);
    return signature.index;
  };
  const importedSignatures = imported.map(signatureOf);
  const ownSignatures = kernels.map(signatureOf);

  const out = new ByteWriter(4096);
  out.append(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)); // '\0asm', version 1
  writeList(out, section.type, [...signatures.values()], ({ types }, entry) => {
    entry.u8(0x60);
    entry.sized(Uint8Array.from(types, (type) => typeCodes[type]));
    entry.u8(0);
  });
  writeList(out, section.import, [null, ...imported], (kernel, entry) => {
    entry.name('env');
    entry.name(kernel?.name ?? 'memory');
    if (kernel !== null) {
      entry.u8(0);
      entry.u32(importedSignatures[imported.indexOf(kernel)]);
      return;
    }
    entry.u8(2);
    const wide = addresses === 'i64' ? limits.wide : 0;
    entry.u8((shared ? limits.sharedWithMaximum : limits.none) | wide);
    entry.u32(0);
    if (shared) entry.u32(mostPages[addresses]);
  });
  writeList(out, section.function, ownSignatures, (signature, entry) => entry.u32(signature));
  writeList(out, section.export, kernels, (kernel, entry) => {
    entry.name(kernel.name);
    entry.u8(0);
    entry.u32(functionOf(kernel));
  });
  writeList(out, section.code, kernels, (kernel, entry) =>
    entry.sized(functionBody(kernel, { relaxed, addresses, functionOf })),
  );
  return new Uint8Array(out.bytes);
}

const noBodies = (): Readonly<Record<AddressScalar, WeakMap<Kernel, Uint8Array>>> => ({
  i32: new WeakMap(),
  i64: new WeakMap(),
});

/** By whether relaxed instructions are allowed, and by the type of addresses. */
const bodies = { strict: noBodies(), relaxed: noBodies() } as const;

/**
 * The code of a kernel, encoded once for all modules that contain it. Types stand in a body by value; only
 * calls depend on the module, so bodies with calls are not cached.
 */
function functionBody(kernel: Kernel, options: KernelOptions): Uint8Array {
  const { relaxed, addresses, functionOf } = options;
  const known = bodies[relaxed ? 'relaxed' : 'strict'][addresses];
  let body = known.get(kernel);
  if (body !== undefined) return body;
  let isCaller = false;
  body = encodeKernel(kernel, {
    ...options,
    functionOf: (callee) => {
      isCaller = true;
      return functionOf(callee);
    },
  });
  if (!isCaller) known.set(kernel, body.slice());
  return body;
}

function writeList<T>(
  out: ByteWriter,
  id: number,
  items: readonly T[],
  write: (item: T, entry: ByteWriter) => void,
): void {
  const body = new ByteWriter(1024);
  body.u32(items.length);
  for (const item of items) write(item, body);
  out.u8(id);
  out.sized(body.bytes);
}

/** Compiles and links at once. A module the engine refuses is a `DeviceError`. */
export function instantiateModule(
  module: Module,
  memory: WebAssembly.Memory,
  options: WasmOptions = {},
): Readonly<Record<string, WasmKernel>> {
  const compiled = compileModule(module, options);
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
  return exports as Readonly<Record<string, WasmKernel>>;
}

/**
 * Compiles synchronously. A module the engine refuses is a `DeviceError`. V8 shares the code of equal modules
 * as long as one of them lives (0.05 ms for a second one of 25 KB), so nothing is cached here.
 */
export function compileModule(module: Module, options: WasmOptions = {}): WebAssembly.Module {
  try {
    return new WebAssembly.Module(encodeModule(module, options));
  } catch (cause) {
    if (!(cause instanceof WebAssembly.CompileError)) throw cause;
    throw new DeviceError('the engine refused a generated module', {
      op: 'compile',
      actual: cause.message,
      cause,
    });
  }
}
