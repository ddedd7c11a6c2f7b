// npm run test:player [-- ARGUMENTS OF PYTEST]
// Installs what the player needs into .build (a virtual environment of Python), has Kaon write its jobs, and runs the
// checks and tests of the player, and the tests of StableHLO that need XLA. With arguments only pytest runs.
// KAON_PLAYER_JAX=0.4.35 takes that release of JAX, KAON_PLAYER_PYTHON a Python that has all of it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { compile, root, run } from './setup.mjs';

const release = process.env['KAON_PLAYER_JAX'];
const folder = `${root}.build/player${release === undefined ? '' : `-${release}`}`;
const python = process.env['KAON_PLAYER_PYTHON'] ?? `${folder}/bin/python`;
const jobs = `${root}.build/player-jobs`;

/** A list of the player's own description. */
function listed(name) {
  const text = readFileSync(`${root}player/pyproject.toml`, 'utf8');
  const [, list] = new RegExp(`^${name} = \\[(.*)\\]$`, 'm').exec(text);
  return list.split(',').map((each) => each.trim().slice(1, -1));
}

/** Makes the environment, anew when the description has changed. */
function install() {
  const wanted = [...listed('dependencies'), ...listed('dev')];
  if (release !== undefined) wanted.push(`jax==${release}`, `jaxlib==${release}`);
  const stamp = `${folder}/installed.json`;
  const content = JSON.stringify(wanted);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === content) return;
  rmSync(folder, { recursive: true, force: true });
  run(process.env['PYTHON'] ?? 'python3', ['-m', 'venv', folder]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...wanted]);
  writeFileSync(stamp, content);
}

/** Runs a command; true when it succeeds. */
function succeeds(command, args, cwd, environment = {}) {
  const env = { ...process.env, ...environment };
  return spawnSync(command, args, { cwd, stdio: 'inherit', env }).status === 0;
}

if (process.env['KAON_PLAYER_PYTHON'] === undefined) install();
compile();
rmSync(jobs, { recursive: true, force: true });
run(process.execPath, ['dist/test/player/write-jobs.js', jobs]);

const inPlayer = (...args) => succeeds(python, ['-m', ...args], `${root}player`, { KAON_PLAYER_JOBS: jobs }); // prettier-ignore
const xla = [
  'scripts/test.mjs',
  'test/formats/stablehlo',
  'test/stablehlo',
  'test/scale/player',
  'test/examples/scale',
];
const pytest = process.argv.slice(2);
const results =
  pytest.length > 0
    ? [inPlayer('pytest', ...pytest)]
    : [
        // Types are those of the newest release.
        ...(release === undefined
          ? [inPlayer('ruff', 'check'), inPlayer('ruff', 'format', '--check'), inPlayer('mypy')]
          : []),
        inPlayer('pytest'),
        succeeds(process.execPath, xla, root, { KAON_PLAYER_PYTHON: python }),
      ];
process.exitCode = results.every(Boolean) ? 0 : 1;
