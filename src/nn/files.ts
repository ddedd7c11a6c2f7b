import type * as nodeFiles from 'node:fs/promises';
import { checkArgument, rule } from '../base/options.js';
import { FormatError, UnsupportedError } from '../base/errors.js';

type FileSystem = typeof nodeFiles;

/** Node's file system; places without one have the byte forms. */
async function fileSystem(op: string): Promise<FileSystem> {
  try {
    return await import('node:fs/promises');
  } catch (cause) {
    throw new UnsupportedError('this place has no files', {
      op,
      expected: 'node:fs/promises',
      advice: 'use the forms that give and take bytes: toSafetensors and fromSafetensors',
      cause,
    });
  }
}

/** The runtime's functions take other things, too, which mean something else. */
const fileName = rule(
  'the name of a file',
  (value): value is string => typeof value === 'string' && value !== '',
);

/** @param op On whose behalf, for messages. */
export async function readFile(op: string, path: string): Promise<Uint8Array> {
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
 * Writes a file whole or not at all: the bytes go to a temporary file beside it, reach the disk, and
 * then take its name. Whatever fails, the old file is untouched and the temporary one is removed.
 */
export async function replaceFile(op: string, path: string, bytes: Uint8Array): Promise<void> {
  checkArgument(op, 'path', path, fileName);
  const { open, rename, rm } = await fileSystem(op);
  const temporary = `${path}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`;
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    // What could not be opened may have no file to remove, or a name that no file can have.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new FormatError(`${path} cannot be written`, {
      op,
      expected: 'a place that can be written to',
      actual: String((cause as Error).message),
      cause,
    });
  }
}
