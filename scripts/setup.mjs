// Makes a checkout ready to run: installs the locked packages when they are missing or stale, then compiles.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

export function run(command, args) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
}

/** Installs the locked packages of a folder of the checkout when they are missing or stale. */
export function install(folder = '.', ...flags) {
  const lock = `${root}${folder}/package-lock.json`;
  if (modified(`${root}${folder}/node_modules/.package-lock.json`) >= modified(lock)) return;
  run('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', ...flags]);
}

/** Compiles sources, tests and examples into `out`; a second time it only compiles what changed. */
export function compile(out = 'dist') {
  run(process.execPath, [
    'node_modules/typescript/bin/tsc', '-p', '.', '--outDir', out, '--tsBuildInfoFile', `${out}/.tsbuildinfo`,
  ]); // prettier-ignore
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  compile();
}
