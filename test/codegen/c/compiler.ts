import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The C compilers of this machine. */
export const compilers: readonly string[] = ['gcc', 'clang'].filter(
  (name) => spawnSync(name, ['--version']).status === 0,
);

/** Compiles a program and runs it on an input; returns what it writes. Nothing is left behind. */
export function compileAndRun(
  compiler: string,
  source: string,
  flags: readonly string[],
  input: Uint8Array,
): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-c-'));
  try {
    const [file, program] = [join(folder, 'kernels.c'), join(folder, 'kernels')];
    writeFileSync(file, source);
    execFileSync(compiler, [...flags, '-o', program, file, '-lm'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return execFileSync(program, { input, maxBuffer: 2 ** 30 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
