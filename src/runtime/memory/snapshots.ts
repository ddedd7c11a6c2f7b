import type { HostArray } from '../../base/dtype.js';
import type { Storage } from './storage.js';

/** Elements as they are now, whatever is written to their storage later. */
export interface Snapshot {
  readonly elements: HostArray;
  /** True where other runs read the same array, so that it must not be written to. */
  readonly isShared: boolean;
}

interface Seen {
  readonly version: number;
  shared: HostArray | null;
}

const seen = new WeakMap<Storage, Seen>();

/**
 * Snapshot of the elements of a storage on the host. What is wanted for the second time without having changed, as
 * parameters are, is copied once more and then shared by all later runs, until it changes.
 */
export function snapshotOf(storage: Storage): Snapshot {
  const { version } = storage;
  const known = seen.get(storage);
  if (known?.version !== version) {
    seen.set(storage, { version, shared: null });
    return { elements: storage.copy(), isShared: false };
  }
  known.shared ??= storage.copy();
  return { elements: known.shared, isShared: true };
}
