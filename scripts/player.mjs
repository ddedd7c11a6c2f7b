// npm run test:player: installs JAX into .build/player (a virtual environment of Python) and runs the tests that need it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { compile, root, run } from './setup.mjs';

const folder = `${root}.build/player`;
const python = `${folder}/bin/python`;

/** The packages that the player's own description asks for. */
function dependencies() {
  const [, list] = /^dependencies = \[(.*)\]$/m.exec(readFileSync(`${root}player/pyproject.toml`, 'utf8')); // prettier-ignore
  return list.split(',').map((each) => each.trim().slice(1, -1));
}

if (!existsSync(python)) {
  run('python3', ['-m', 'venv', folder]);
  run(python, ['-m', 'pip', 'install', '--quiet', ...dependencies()]);
}
compile();
const { status } = spawnSync(
  process.execPath,
  [
    'scripts/test.mjs',
    'test/formats/stablehlo',
    'test/stablehlo',
    'test/scale',
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, KAON_PLAYER_PYTHON: python } },
);
process.exitCode = status ?? 1;
