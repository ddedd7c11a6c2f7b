import { FormatError } from '../base/errors.js';
import { decodeNpy, encodeNpy, type NpyArray } from './npy.js';

/** True when bytes begin like a ZIP archive, empty or not. */
export function isZip(file: Uint8Array): boolean {
  return file[0] === 0x50 && file[1] === 0x4b && (file[2] === 3 || file[2] === 5);
}

const extension = '.npy';
/** The earliest time that an archive can represent, fixed so that equal arrays give equal files. */
const epoch = new Date(1980, 0, 1);

/** Arrays by name as a NumPy archive, as `numpy.savez` or `numpy.savez_compressed` write it. */
export async function encodeNpz(
  arrays: ReadonlyMap<string, NpyArray>,
  compress: boolean,
): Promise<Uint8Array> {
  const { zipSync } = await import('fflate');
  const files = new Map<string, Uint8Array>();
  for (const [name, array] of arrays) files.set(`${name}${extension}`, encodeNpy(array));
  return zipSync(Object.fromEntries(files), { level: compress ? 6 : 0, mtime: epoch });
}

const op = 'decodeNpz';

/**
 * The arrays of a NumPy archive, in its order.
 *
 * @param maxBytes Limit of the total unpacked size, checked before unpacking.
 * @throws FormatError for archives that are damaged, too large, or hold anything but arrays; UnsupportedError
 * for arrays that `decodeNpy` does not read.
 */
export async function decodeNpz(
  file: Uint8Array,
  maxBytes: number,
): Promise<ReadonlyMap<string, NpyArray>> {
  const { unzipSync } = await import('fflate');
  const names: string[] = [];
  let bytes = 0;
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(file, {
      filter: ({ name, originalSize }) => {
        names.push(name);
        bytes += originalSize;
        if (!name.endsWith(extension)) {
          throw new FormatError(
            `the archive holds ${JSON.stringify(name)}, which is not an array`,
            {
              op,
              expected: `files that end in ${extension}`,
            },
          );
        }
        if (bytes > maxBytes) {
          throw new FormatError('the archive is too large', {
            op,
            expected: `at most ${maxBytes} bytes when it is unpacked`,
            actual: `${bytes} bytes and more`,
            advice: 'raise maxBytes if you trust the file',
          });
        }
        return true;
      },
    });
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    throw new FormatError('this is not an archive, or it is damaged', {
      op,
      expected: 'what numpy.savez writes',
      actual: (cause as Error).message,
      cause,
    });
  }
  if (new Set(names).size !== names.length) {
    throw new FormatError('two arrays of the archive have the same name', {
      op,
      actual: names.join(', '),
    });
  }
  return new Map(
    names.map((name) => [name.slice(0, -extension.length), decodeNpy(files[name])] as const),
  );
}
