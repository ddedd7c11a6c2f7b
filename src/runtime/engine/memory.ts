import { InternalError } from '../../base/errors.js';
import { wasmTarget } from '../../loop/language/target.js';
import { byDefinition } from '../../kernels/definitions.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import type { Backend } from '../device/backend.js';
import type { BackendLimits } from '../memory/backend.js';

/** Memory of an engine: none. Its arrays stay on the host, and are read when they have been computed. */
export class EngineMemory implements Backend {
  readonly name: string;
  readonly answersAtOnce = false;
  readonly bytesInUse = 0;
  readonly limits: BackendLimits = { dtypes: new Set(), bufferBytes: 0, alignment: 1 };
  readonly target: DeviceTarget = byDefinition(wasmTarget);

  constructor(name: string) {
    this.name = name;
  }

  readonly allocate: () => never = noBuffers;
  readonly free: () => never = noBuffers;
  readonly write: () => never = noBuffers;
  readonly read: () => never = noBuffers;
  readonly copy: () => never = noBuffers;
  readonly prepare: () => never = noBuffers;

  async synchronize(): Promise<void> {
    // The queue waits for the work; there is nothing behind it.
  }
}

function noBuffers(): never {
  throw new InternalError('an engine has no buffers');
}
