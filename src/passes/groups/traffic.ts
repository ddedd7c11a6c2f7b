import { addDim, type Dim, elementCount, mulDim } from '../../base/dim/index.js';
import { bytesOf } from '../../base/dtype.js';
import type { Group } from './group.js';

/** The bytes that a group moves when each value that it reads or writes goes through memory once. */
export function trafficOf(group: Group): Dim {
  return [...group.reads, ...group.writes].reduce<Dim>(
    (total, { type }) => addDim(total, mulDim(bytesOf(type.dtype), elementCount(type.shape))),
    0,
  );
}
