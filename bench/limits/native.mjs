// What the processor reaches in native code: a small C program, compiled by whichever compiler is found.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const source = fileURLToPath(new URL('native.c', import.meta.url));
const compilers = [process.env.CC, 'cc', 'gcc', 'clang'].filter(Boolean);
const flags = ['-O3', '-march=native', '-ffp-contract=fast'];
// Else some compilers cut the widest vectors in two.
const wide = process.arch === 'x64' ? ['-mprefer-vector-width=512'] : [];
const execute = promisify(execFile);

/** The program in a folder, with what compiled it; null without a compiler. */
export function compileLimits(folder) {
  const program = join(folder, 'limits');
  for (const compiler of compilers) {
    try {
      execFileSync(compiler, [...flags, ...wide, '-o', program, source], { stdio: 'ignore' });
      const [version] = execFileSync(compiler, ['--version'], { encoding: 'utf8' }).split('\n');
      return { program, version };
    } catch {
      // Not there, or not able to: the next one.
    }
  }
  return null;
}

/** GFLOP/s (`['compute']`) or GB/s (`['copy', bytes]`) of so many processes at the same time. */
export async function nativeRate(program, words, milliseconds, threads = 1) {
  const runs = Array.from({ length: threads }, () =>
    execute(program, [...words.map(String), String(milliseconds)]),
  );
  const rates = (await Promise.all(runs)).map(({ stdout }) => Number(stdout));
  return rates.reduce((sum, rate) => sum + rate, 0);
}
