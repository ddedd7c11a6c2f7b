import { ArgumentError, FormatError, UnsupportedError } from '../base/errors.js';
import { type NodeModules, nodeModules } from '../base/node.js';
import type { DataFile } from '../formats/onnx/export/external.js';
import type { ExternalData } from '../formats/onnx/external.js';

/** Files of a folder, read in parts because they may be larger than memory. */
export function folderOf(path: string): ExternalData {
  const { files, path: paths } = fileModules('fromOnnx', 'give a function from names to bytes');
  const home = open(() => files.realpathSync(path), path);
  const fileAt = (location: string): string => {
    const found = open(() => files.realpathSync(paths.join(home, location)), location);
    // A symbolic link may lead out of the folder.
    if (found.startsWith(`${home}${paths.sep}`)) return found;
    throw new FormatError('external data is outside of its folder', {
      op: 'fromOnnx',
      actual: location,
    });
  };
  return {
    size: (location) => open(() => files.statSync(fileAt(location)).size, location),
    read: (location, offset, length) =>
      open(() => {
        const handle = files.openSync(fileAt(location), 'r');
        try {
          const bytes = new Uint8Array(length);
          let done = 0;
          while (done < length) {
            const count = files.readSync(handle, bytes, done, length - done, offset + done);
            if (count === 0) break;
            done += count;
          }
          return bytes.subarray(0, done);
        } finally {
          files.closeSync(handle);
        }
      }, location),
  };
}

function open<R>(read: () => R, location: string): R {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    throw new FormatError(`external data ${JSON.stringify(location)} cannot be read`, {
      op: 'fromOnnx',
      actual: String((cause as Error).message),
      cause,
    });
  }
}

function written<R>(path: string, write: () => R): R {
  try {
    return write();
  } catch (cause) {
    throw new FormatError(`external data cannot be written to ${path}`, {
      op: 'toOnnx',
      expected: 'a folder that is there and can be written to',
      actual: String((cause as Error).message),
      cause,
    });
  }
}

/** An open file in a folder, written sequentially. */
export interface OpenFile extends DataFile {
  close(): void;
}

/**
 * Creates or replaces a file in a folder.
 * @throws ArgumentError for a path that leads out of the folder.
 */
export function fileIn(folder: string, location: string): OpenFile {
  const { files, path: paths } = fileModules('toOnnx', 'give a function that takes the bytes');
  const path = written(folder, () => paths.join(files.realpathSync(folder), location));
  written(path, () => files.mkdirSync(paths.dirname(path), { recursive: true }));
  const home = files.realpathSync(folder);
  // A symbolic link, or one on the path, may lead out of the folder.
  const isLink = files.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const place = files.realpathSync(paths.dirname(path));
  if (isLink || !(place === home || place.startsWith(`${home}${paths.sep}`))) {
    throw new ArgumentError('external data would be outside of its folder', {
      op: 'toOnnx',
      actual: location,
    });
  }
  const handle = written(path, () => files.openSync(path, 'w'));
  return {
    location,
    write: (offset, bytes) => {
      for (let done = 0; done < bytes.length;) {
        done += files.writeSync(handle, bytes, done, bytes.length - done, offset + done);
      }
    },
    close: () => files.closeSync(handle),
  };
}

function fileModules(op: string, otherwise: string): NodeModules {
  const modules = nodeModules();
  if (modules !== null) return modules;
  throw new UnsupportedError('there is no file system here', {
    op,
    advice: `${otherwise} as externalData`,
  });
}
