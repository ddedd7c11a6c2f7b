import { UnsupportedError } from '../../../base/errors.js';
import { checkLocation } from '../external.js';
import { exportOp, type Stored, type TensorParts, tensorParts } from './parts.js';

/** Shorter tensors stay in the model, where tools can show them. */
const shortest = 1024;

/** Tensors are aligned to pages, so that a file can be mapped into memory. */
const alignment = 4096;

/** Size limit of a model in one piece: protocol buffer messages end below 2 GB. */
const most = 2 ** 31 - 2 ** 20;

/** The file beside a model that holds its large tensors. */
export interface DataFile {
  /** The location in the model: a path within the model's own folder. */
  readonly location: string;
  /** Takes the bytes of the file from `offset` on. Offsets ascend, gaps are zeros. */
  write(offset: number, bytes: Uint8Array): void;
}

/**
 * The tensors of a model: with their elements, or with their location in an external file.
 * @throws UnsupportedError when they are too large for one file, FormatError for a file outside of the
 * folder.
 */
export function storedParts(stored: readonly Stored[], file: DataFile | null): TensorParts[] {
  const size = stored.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (file === null) {
    if (size <= most) return stored.map(tensorParts);
    throw new UnsupportedError('the model does not fit into one file', {
      op: exportOp,
      expected: `tensors of at most ${most} bytes`,
      actual: `${size} bytes`,
      advice:
        'give externalData: a folder for a file with the large ones, or a function that takes it',
    });
  }
  checkLocation(file.location, 'the model');
  let end = 0;
  return stored.map((each) => {
    if (each.bytes.length < shortest) return tensorParts(each);
    const offset = Math.ceil(end / alignment) * alignment;
    file.write(offset, each.bytes);
    end = offset + each.bytes.length;
    const entries = { location: file.location, offset, length: each.bytes.length };
    return {
      ...tensorParts({ ...each, bytes: new Uint8Array(0) }),
      dataLocation: 1,
      externalData: Object.entries(entries).map(([key, value]) => ({ key, value: String(value) })),
    };
  });
}
