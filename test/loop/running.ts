import * as e from '../../src/loop/language/build.js';
import { interpret } from '../../src/loop/interpret/interpret.js';
import type { Kernel, ElementKind } from '../../src/loop/language/nodes.js';
import { bufferLength, params } from './random-kernel.js';

const edges: readonly number[] = [
  0,
  -0,
  1,
  -1,
  NaN,
  Infinity,
  -Infinity,
  0.5,
  1e-40,
  3e38,
  -2.5,
  7,
];
const integerEdges: readonly number[] = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 7, -8, 255, 65536];

/** The memory that random kernels start from, and the addresses of their buffers in it. */
export function startingMemory(): {
  readonly memory: ArrayBuffer;
  readonly addresses: readonly number[];
} {
  let end = 0;
  const addresses = params.flatMap((param) => {
    if (param.kind !== 'buffer') return [];
    const start = end;
    end += bufferLength * e.storageBytes(param.storage);
    return [start];
  });
  const memory = new ArrayBuffer(end);
  for (const view of viewsOf(memory)) {
    for (let at = 0; at < bufferLength; at++) {
      if (view instanceof BigInt64Array) view[at] = BigInt(integerEdges[at % 9]) << BigInt(at % 34);
      else if (view instanceof Float32Array || view instanceof Float64Array) {
        view[at] = edges[at % 12];
      } else view[at] = integerEdges[at % 9];
    }
  }
  return { memory, addresses };
}

/** The numbers in the memory of a random kernel. */
export function contentsOf(memory: ArrayBuffer): readonly (number | bigint)[] {
  return viewsOf(memory).flatMap((view) => [...view] as (number | bigint)[]);
}

/** What a random kernel leaves in memory for two sizes; NaN is one value. */
export function contentsAfter(kernel: Kernel, n: number, m: number): readonly (number | bigint)[] {
  const { memory, addresses } = startingMemory();
  interpret(e.moduleOf([kernel]), memory, kernel.name, [...addresses, n, m]);
  return contentsOf(memory);
}

function viewsOf(memory: ArrayBuffer): readonly ReturnType<typeof viewOf>[] {
  let start = 0;
  return params.flatMap((param) => {
    if (param.kind !== 'buffer') return [];
    const view = viewOf(memory, param.storage, start);
    start += view.byteLength;
    return [view];
  });
}

function viewOf(
  memory: ArrayBuffer,
  storage: ElementKind,
  address: number,
): Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array {
  switch (storage) {
    case 'f32':
      return new Float32Array(memory, address, bufferLength);
    case 'f64':
      return new Float64Array(memory, address, bufferLength);
    case 'i64':
      return new BigInt64Array(memory, address, bufferLength);
    case 'u8':
      return new Uint8Array(memory, address, bufferLength);
    default:
      return new Int32Array(memory, address, bufferLength);
  }
}
