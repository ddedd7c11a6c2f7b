import type * as nodeFiles from 'node:fs/promises';
import { FormatError, UnsupportedError } from '../base/errors.js';

type FileSystem = typeof nodeFiles;

/** Node's file system; places without one have the byte forms. */
async function fileSystem(): Promise<FileSystem> {
  try {
    return await import('node:fs/promises');
  } catch (cause) {
    throw new UnsupportedError('this place has no files', {
      advice: 'use the forms that give and take bytes: toSafetensors and fromSafetensors',
      cause,
    });
  }
}

export async function readFile(path: string): Promise<Uint8Array> {
  const { readFile: read } = await fileSystem();
  try {
    return await read(path);
  } catch (cause) {
    throw new FormatError(`${path} cannot be read`, {
      actual: String((cause as Error).message),
      cause,
    });
  }
}

/**
 * Writes a file whole or not at all: the bytes go to a temporary file beside it, reach the disk, and
 * then take its name. Whatever fails, the old file is untouched and the temporary one is removed.
 */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const { open, rename, rm } = await fileSystem();
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
    await rm(temporary, { force: true });
    throw new FormatError(`${path} cannot be written`, {
      actual: String((cause as Error).message),
      cause,
    });
  }
}
