import type * as AsyncFiles from 'node:fs/promises';
import { FormatError, UnsupportedError } from '../base/errors.js';
import { loadNodeModules } from '../base/node.js';

/** The file system; places without one have the byte forms. */
async function fileSystem(op: string): Promise<typeof AsyncFiles> {
  const modules = await loadNodeModules();
  if (modules !== null) return modules.asyncFiles;
  throw new UnsupportedError('this place has no files', {
    op,
    expected: 'the file system of Node, Deno or Bun',
    advice: 'use the forms that give and take bytes: toSafetensors and fromSafetensors',
  });
}

/** @param op On whose behalf, for messages. */
export async function readFile(op: string, path: string): Promise<Uint8Array> {
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
    await rm(temporary, { force: true });
    throw new FormatError(`${path} cannot be written`, {
      op,
      expected: 'a place that can be written to',
      actual: String((cause as Error).message),
      cause,
    });
  }
}
