import { FormatError, UnsupportedError } from '../base/errors.js';
import { loadNodeModules, type NodeModules } from '../base/node.js';
import { checkArgument, valueRule, type ValueRule } from '../base/attributes/options.js';

/** The file system; without one, only the functions on bytes are available. */
async function fileSystem(
  op: string,
): Promise<NodeModules['asyncFiles'] & Pick<NodeModules['address'], 'fileURLToPath'>> {
  const modules = await loadNodeModules();
  if (modules !== null)
    return { ...modules.asyncFiles, fileURLToPath: modules.address.fileURLToPath };
  throw new UnsupportedError('there is no file system here', {
    op,
    expected: 'the file system of Node, Deno or Bun',
    advice: 'use the functions on bytes: toSafetensors and fromSafetensors',
  });
}

/** The name of a file. */
export const fileName: ValueRule<string | URL> = valueRule(
  'the name of a file, or its file: URL',
  (value): value is string | URL =>
    value instanceof URL ? value.protocol === 'file:' : typeof value === 'string' && value !== '',
);

/** @param op Public function, for messages. */
export async function readFile(op: string, path: string | URL): Promise<Uint8Array> {
  checkArgument(op, 'path', path, fileName);
  const { readFile: read } = await fileSystem(op);
  try {
    return await read(path);
  } catch (cause) {
    throw new FormatError(`${path} cannot be read`, {
      op,
      expected: 'a file that can be read',
      actual: String((cause as Error).message),
      cause,
    });
  }
}

/**
 * Writes a file atomically: the bytes go to a temporary file beside it, reach the disk, and then the file is
 * renamed. After any failure the old file is untouched and the temporary one is removed.
 */
export async function replaceFile(
  op: string,
  path: string | URL,
  bytes: Uint8Array,
): Promise<void> {
  checkArgument(op, 'path', path, fileName);
  const { fileURLToPath, open, rename, rm } = await fileSystem(op);
  const target = path instanceof URL ? fileURLToPath(path) : path;
  const temporary = `${target}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`;
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (cause) {
    // If opening failed there may be no file, or a name that no file can have.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new FormatError(`${path} cannot be written`, {
      op,
      expected: 'a writable path',
      actual: String((cause as Error).message),
      cause,
    });
  }
}
