// node scripts/software-gpu.mjs
// Unpacks a software driver of Vulkan (Mesa's lavapipe) into .build/software-gpu, so that tests of WebGPU find an
// adapter on a machine without a GPU. Nothing is installed: Debian's packages are downloaded with apt-get and unpacked.
// Where that cannot be done a line says why, and the tests that need an adapter are skipped.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './setup.mjs';

const folder = `${root}.build/software-gpu`;
const description = `${folder}/driver.json`;

/** Mesa of Debian 12 itself finds no adapter; newer releases do. */
const newer = { bookworm: 'bookworm-backports' };

/**
 * Settings of Mesa: most of the time of tests goes to the compiler of shaders, which takes half as long without
 * optimization and with vectors of 128 bits.
 */
const quick = { GALLIVM_PERF: 'nopt', LP_NATIVE_VECTOR_WIDTH: '128' };

/** Environment in which Vulkan finds the driver; null where it has not been unpacked. */
export function softwareGpu() {
  if (!existsSync(description)) return null;
  const libraries = librariesIn(folder);
  const rest = process.env.LD_LIBRARY_PATH;
  return {
    LD_LIBRARY_PATH: rest ? `${libraries}:${rest}` : libraries,
    VK_ICD_FILENAMES: description,
    ...quick,
  };
}

function librariesIn(unpacked) {
  const base = `${unpacked}/usr/lib`;
  const [name] = readdirSync(base).filter((each) => each.endsWith('-linux-gnu'));
  return join(base, name);
}

function output(command, args, options = {}) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options }); // prettier-ignore
}

/** Sources like those of the machine, and the suite that has a newer driver where one is needed. */
function sourcesWith(suite, codename) {
  const format = '$(REPO_URI) $(CODENAME) $(COMPONENT) $(CREATED_BY)';
  const [target] = output('apt-get', ['indextargets', '--format', format])
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, name, component, by]) => name === codename && component === 'main' && by === 'Packages'); // prettier-ignore
  if (target === undefined) throw new Error(`apt has no sources for ${codename}`);
  const suites = [...new Set([codename, suite])];
  return suites.map((each) => `deb ${target[0]} ${each} main\n`).join('');
}

/** Downloads and unpacks the driver with what it needs and this machine lacks. */
function unpack() {
  if (process.platform !== 'linux') throw new Error('this is not Linux');
  const [, codename] =
    /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
  const suite = newer[codename] ?? codename;
  const work = `${folder}.new`;
  rmSync(work, { recursive: true, force: true });
  for (const each of ['lists/partial', 'cache/archives/partial', 'sources']) {
    mkdirSync(`${work}/${each}`, { recursive: true });
  }
  writeFileSync(`${work}/sources/own.list`, sourcesWith(suite, codename));
  const configuration = `${work}/apt.conf`;
  writeFileSync(
    configuration,
    [
      'Dir::Etc::SourceList "/dev/null";',
      `Dir::Etc::SourceParts "${work}/sources";`,
      `Dir::State::Lists "${work}/lists";`,
      `Dir::Cache "${work}/cache";`,
      'Debug::NoLocking "true";',
      'APT::Sandbox::User "";',
      '',
    ].join('\n'),
  );
  const env = { ...process.env, APT_CONFIG: configuration };
  const apt = (...args) => output('apt-get', ['-qq', ...args], { env, timeout: 300_000 });
  apt('update');
  apt('install', '--download-only', '--yes', '--no-install-recommends', '-t', suite, 'mesa-vulkan-drivers', 'libvulkan1'); // prettier-ignore
  const archives = `${work}/cache/archives`;
  for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
    output('dpkg', ['-x', `${archives}/${file}`, `${work}/unpacked`]);
  }
  const library = join(librariesIn(`${work}/unpacked`), 'libvulkan_lvp.so');
  if (!existsSync(library)) throw new Error('the packages have no lavapipe');
  rmSync(folder, { recursive: true, force: true });
  renameSync(`${work}/unpacked`, folder);
  rmSync(work, { recursive: true, force: true });
  const found = join(librariesIn(folder), 'libvulkan_lvp.so');
  const icd = {
    file_format_version: '1.0.0',
    ICD: { library_path: found, api_version: '1.4.305' },
  };
  writeFileSync(description, JSON.stringify(icd));
}

if (process.argv[1] === fileURLToPath(import.meta.url) && softwareGpu() === null) {
  try {
    unpack();
  } catch (error) {
    const [reason] = String(error.stderr || error.message)
      .trim()
      .split('\n');
    rmSync(`${folder}.new`, { recursive: true, force: true });
    console.log(`no software driver for WebGPU, whose tests are skipped: ${reason}`);
  }
}
