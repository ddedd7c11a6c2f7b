import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { bytesOf, type DType, type HostArray } from '../../../src/base/dtype.js';
import type { BackendLimits, BufferBackend, DeviceBuffer } from '../../../src/runtime/memory/backend.js'; // prettier-ignore
import { freeDropped } from '../../../src/runtime/memory/elsewhere.js';
import { Storage } from '../../../src/runtime/memory/storage.js';

/** Memory of which there are only the numbers. */
class CountingBackend implements BufferBackend {
  readonly name = 'counting';
  readonly answersAtOnce = false;
  readonly limits: BackendLimits;
  bytesInUse = 0;
  readonly #live: Set<DeviceBuffer> = new Set();

  constructor(budget?: number) {
    const limits = { dtypes: new Set<DType>(['float32']), bufferBytes: 2 ** 30, alignment: 256 };
    this.limits = { ...limits, ...(budget !== undefined && { budget }) };
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    const buffer = { dtype, length };
    this.#live.add(buffer);
    this.bytesInUse += bytesOf(dtype) * length;
    return buffer;
  }

  free(buffer: DeviceBuffer): void {
    assert.ok(this.#live.delete(buffer), 'a buffer was freed twice');
    this.bytesInUse -= bytesOf(buffer.dtype) * buffer.length;
  }

  write(): void {}
  copy(): void {}
  async synchronize(): Promise<void> {}
  read(): HostArray {
    return new Float32Array();
  }
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Makes results of 1 MiB and drops them in one synchronous loop. The most bytes there ever were after `from`. */
function churn(backend: CountingBackend, results: number, from: number): number {
  let bytes = 0;
  for (let k = 0; k < results; k++) {
    freeDropped(backend);
    Storage.ofBuffer(backend, backend.allocate('float32', 2 ** 18));
    if (k % 4 === 0) collect();
    if (k >= from) bytes = Math.max(bytes, backend.bytesInUse);
  }
  return bytes;
}

test('results that nobody holds are freed in synchronous loops', async () => {
  const budget = 2 ** 26;
  const backend = new CountingBackend(budget);
  churn(backend, 8, 0);
  await setImmediate();
  assert.ok(churn(backend, 200, 100) < budget / 2);
});

test('a result that is released is freed once, and those in use stay', async () => {
  const backend = new CountingBackend();
  const kept = Storage.ofBuffer(backend, backend.allocate('float32', 3));
  churn(backend, 8, 0);
  await setImmediate();
  churn(backend, 100, 0);
  assert.equal(kept.buffer.length, 3);
  assert.ok(backend.bytesInUse >= 12);
  const { bytesInUse } = backend;
  kept.release();
  assert.equal(backend.bytesInUse, bytesInUse - 12);
});
