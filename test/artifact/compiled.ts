import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compilers } from '../codegen/c/compiler.js';

const strict = ['-std=c99', '-ffp-contract=off', '-Wall', '-Wextra', '-pedantic', '-Werror'];

const isLong = process.env['KAON_LONG_TESTS'] === '1';

/**
 * How a compiler is asked: the last one found to look for what C leaves undefined, those before it to
 * optimize. One that is alone does both.
 */
function waysOf(compiler: string): readonly string[] {
  if (compiler !== compilers.at(-1)) return [isLong ? '-O2' : '-O1'];
  const level = isLong || compilers.length === 1 ? '-O1' : '-O0';
  return [level, '-fsanitize=undefined,address', '-fno-sanitize-recover=all'];
}

/** Optimizing more text than this takes seconds, and all that is in it is in smaller files too. */
const mostOptimized = 22_000;

/** One model of a program. */
export interface Model {
  readonly name: string;
  readonly source: string;
  readonly header: string;
  readonly weights: Uint8Array | null;
}

/** A program of many models, compiled once by each compiler, and what it writes. */
export class Program {
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'kaon-artifact-'));
  readonly #sources: { readonly file: string; readonly length: number }[] = [];

  add({ name, source, header, weights }: Model): void {
    this.write(`${name}.h`, header);
    if (weights !== null) this.write(`${name}.weights`, weights);
    this.addSource(`${name}.c`, source);
  }

  addSource(file: string, text: string): void {
    this.write(file, text);
    this.#sources.push({ file, length: text.length });
  }

  write(file: string, text: string | Uint8Array): void {
    writeFileSync(join(this.#folder, file), text);
  }

  /** Into a folder of the compiler's own: several may be at work. */
  async compile(compiler: string): Promise<void> {
    const cwd = join(this.#folder, compiler);
    mkdirSync(cwd);
    const call = (...args: readonly string[]): Promise<unknown> =>
      promisify(execFile)(compiler, [...strict, ...waysOf(compiler), ...args], { cwd });
    const isLarge = (length: number): boolean => length > mostOptimized && !isLong;
    const files = (large: boolean): readonly string[] =>
      this.#sources.flatMap(({ file, length }) =>
        isLarge(length) === large ? [`../${file}`] : [],
      );
    const large = files(true);
    if (large.length > 0) await call('-c', ...large, '-O0');
    await call('-c', ...files(false));
    await call('-o', 'program', ...this.#sources.map(({ file }) => file.replace(/c$/, 'o')), '-lm');
  }

  run(compiler: string, input: Uint8Array): Buffer {
    const program = join(this.#folder, compiler, 'program');
    return execFileSync(program, { cwd: this.#folder, input, maxBuffer: 2 ** 30 });
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
