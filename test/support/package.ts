import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from './sources.js';

/** Where the compiled sources and tests lie, `dist` or the folder that was asked for. */
const built = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a command in a folder and returns what it prints; fails with what it says when it fails. */
export function command(folder: string, name: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(name, args, {
    cwd: folder,
    encoding: 'utf8',
    shell: name === 'npm' && process.platform === 'win32',
  });
  if (status !== 0)
    throw new Error(`${name} ${args.join(' ')}: ${stderr}${stdout}`, { cause: error });
  return stdout;
}

/** Runs this Node on a file or with flags. */
export function node(folder: string, ...args: readonly string[]): string {
  return command(folder, process.execPath, ...args);
}

export interface Installed {
  /** A project beside nothing else, into which the package is installed. */
  readonly folder: string;
  /** The files in the package, relative to it. */
  readonly files: readonly string[];
}

/** Packs the package as publishing would, from the tree under test, and installs it into a fresh project. */
export function installPackage(name: string): Installed {
  const room = join(checkout, '.build', `package-${name}`);
  const stage = join(room, 'stage');
  const folder = join(room, 'project');
  rmSync(room, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  mkdirSync(folder);
  for (const file of ['package.json', 'README.md', 'LICENSE', 'THIRD-PARTY.md']) {
    cpSync(join(checkout, file), join(stage, file));
  }
  node(checkout, 'scripts/bundle.mjs', join(stage, 'dist/kaon'), join(built, 'src'));
  const packed: unknown = JSON.parse(
    command(stage, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', room),
  );
  const [{ filename, files }] = packed as [{ filename: string; files: { path: string }[] }];
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const tarball = relative(folder, join(room, filename));
  command(folder, 'npm', 'install', tarball, '--offline', '--no-audit', '--no-fund', '--omit=optional'); // prettier-ignore
  return { folder, files: files.map(({ path }) => path) };
}

/** Writes a file of the project. */
export function write({ folder }: Installed, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

/** The text of a file of the installed package. */
export function read({ folder }: Installed, file: string): string {
  return readFileSync(join(folder, 'node_modules/kaon', file), 'utf8');
}
