// Installs onnxruntime for Python and Java where the machine has them, and PyTorch for the operators. What
// cannot be had is said, and no failure here: npm run parity then tells what it does without.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const home = fileURLToPath(new URL('.', import.meta.url));

const windows = process.platform === 'win32';
const environment = join(home, '.venv');
const jars = join(home, '.build', 'java');

/** The Python that has onnxruntime. */
export const python = windows
  ? join(environment, 'Scripts', 'python.exe')
  : join(environment, 'bin', 'python');

/** The class path that has onnxruntime; null where it is not there. */
export function classPath() {
  if (!existsSync(join(jars, done))) return null;
  return readdirSync(jars)
    .filter((file) => file.endsWith('.jar'))
    .map((file) => join(jars, file))
    .join(windows ? ';' : ':');
}

/** Written into a folder when all that belongs there has arrived. */
const done = 'installed';

/** Carries out commands one after the other unless their result is newer than what asks for it. */
function provide(folder, asking, commands, name = done) {
  const marker = join(folder, name);
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(asking).mtimeMs) return;
  for (const [command, ...parameters] of commands) {
    const { error, status } = spawnSync(command, parameters, {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (error?.code === 'ENOENT') return;
    if (error !== undefined || status !== 0) {
      console.error(
        `${command} ${parameters.join(' ')}: ${error?.message ?? `exit code ${status}`}`,
      );
      return;
    }
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(marker, '');
}

/** Installs what a file of requirements names into the environment, once. */
function provideForPython(requirements, name) {
  provide(environment, requirements, [
    [windows ? 'python' : 'python3', '-m', 'venv', environment],
    [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements],
  ], name);
} // prettier-ignore

/** The Python that has PyTorch: the one that KAON_PYTHON names, or the environment here. */
export function pythonOfOperators() {
  const named = process.env.KAON_PYTHON ?? '';
  if (named !== '') return named;
  provideForPython(join(home, 'operators', 'requirements.txt'), 'operators installed');
  return python;
}

export function setup() {
  provideForPython(join(home, 'requirements.txt'), done);
  const project = join(home, 'executors', 'pom.xml');
  provide(jars, project, [
    [windows ? 'mvn.cmd' : 'mvn', '-q', '-B', '-f', project, 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`],
  ]); // prettier-ignore
}
