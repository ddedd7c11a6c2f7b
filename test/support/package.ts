import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
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

/** Installs the package as publishing would pack it, from the tree under test, into a fresh project. */
export function installPackage(name: string): Installed {
  const { tarball, files } = packed();
  const folder = join(checkout, '.build', `package-${name}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  command(folder, 'npm', 'install', relative(folder, tarball), '--offline', '--no-audit', '--no-fund', '--omit=optional'); // prettier-ignore
  return { folder, files };
}

interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
}

/** Files of the checkout that are packed as they are. */
const beside: readonly string[] = ['package.json', 'README.md', 'LICENSE', 'THIRD-PARTY.md'];

/**
 * The package of the tree under test, made by the first test that asks. Of processes that ask at once each makes it, and
 * the first one to have it keeps it.
 */
function packed(): Packed {
  const room = join(checkout, '.build/packed', digestOfInputs());
  const list = join(room, 'packed.json');
  if (!existsSync(list)) {
    removeOthers(room);
    const own = `${room}-${process.pid}`;
    writeFileSync(join(own, 'packed.json'), JSON.stringify(pack(own)));
    try {
      renameSync(own, room);
    } catch (error) {
      if (!existsSync(list)) throw error; // not that another process was first
      rmSync(own, { recursive: true });
    }
  }
  const { filename, files } = JSON.parse(readFileSync(list, 'utf8')) as PackResult;
  return { tarball: join(room, filename), files: files.map(({ path }) => path) };
}

/** Removes the packages of other trees. */
function removeOthers(room: string): void {
  const all = dirname(room);
  for (const other of existsSync(all) ? readdirSync(all) : []) {
    if (!join(all, other).startsWith(room))
      rmSync(join(all, other), { recursive: true, force: true });
  }
}

/** What `npm pack` tells of a package. */
interface PackResult {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Bundles the compiled sources and packs them in a folder. */
function pack(room: string): PackResult {
  const stage = join(room, 'stage');
  mkdirSync(stage, { recursive: true });
  for (const file of beside) cpSync(join(checkout, file), join(stage, file));
  node(checkout, 'scripts/bundle.mjs', join(stage, 'dist/kaon'), join(built, 'src'));
  const told = command(stage, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', room); // prettier-ignore
  rmSync(stage, { recursive: true });
  return (JSON.parse(told) as [PackResult])[0];
}

/** A digest of all that the package is made of: the sources, what they were compiled to, and what bundles them. */
function digestOfInputs(): string {
  const digest = createHash('sha256');
  const files = [join(checkout, 'src'), join(built, 'src'), join(checkout, 'scripts')].flatMap(
    (folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.[cm]?[jt]s$/.test(file))
        .map((file) => join(folder, file))
        .sort(),
  );
  for (const file of [...beside.map((each) => join(checkout, each)), ...files]) {
    digest.update(`${file}\n`).update(readFileSync(file));
  }
  return digest.digest('hex').slice(0, 16);
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
