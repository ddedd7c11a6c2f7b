import { FormatError } from '../../base/errors.js';
import { importOp } from './place.js';

/** External data of a model, stored outside of its file. */
export interface ExternalData {
  /** Size of a file by its location; throws when there is none. */
  size(location: string): number;
  /** Reads a range, which is known to lie within the file. */
  read(location: string, offset: number, length: number): Uint8Array;
}

/** External data from a function that returns the bytes of a file. */
export function externalFrom(resolve: (location: string) => Uint8Array): ExternalData {
  const files = new Map<string, Uint8Array>();
  const file = (location: string): Uint8Array => {
    let bytes = files.get(location);
    if (bytes === undefined) {
      bytes = resolve(location);
      if (!(bytes instanceof Uint8Array)) {
        throw new FormatError(`the external data ${JSON.stringify(location)} is missing`, {
          op: importOp,
          expected: 'a function that returns its bytes',
        });
      }
      files.set(location, bytes);
    }
    return bytes;
  };
  return {
    size: (location) => file(location).length,
    read: (location, offset, length) => file(location).subarray(offset, offset + length),
  };
}

/** Refuses locations that are not plainly below the model's own folder. */
export function checkLocation(location: string, place: string): void {
  const parts = location.split('/');
  const isPlain =
    location !== '' &&
    !location.includes('\\') &&
    !location.includes('\0') &&
    !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(location) &&
    parts.every((part) => part !== '' && part !== '..');
  if (isPlain) return;
  throw new FormatError(`${place} keeps its data outside of the model's folder`, {
    op: importOp,
    expected: 'a relative path with forward slashes and without ..',
    actual: JSON.stringify(location),
  });
}
