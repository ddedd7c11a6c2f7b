// `node dist/examples/scale/run.js [FOLDER]`: a transformer learns the text of this project's own pages. One epoch runs
// here; the rest is written as a job, which two processes of `kaon-player` run on four simulated devices each, and read
// back to write some text. Without the player (`npm run test:player` installs one, or KAON_PLAYER_PYTHON names a Python
// that has it) the job is written and left.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followJob, readCheckpoint } from '../../src/scale.js';
import { projectFile } from '../support/paths.js';
import { makeTraining, sample, trainHere, writeTextJob } from './job.js';

const processes = 2;
const devices = 4;

const folder = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'kaon-')), 'job');
const text = makeTraining();
console.log(`One epoch here: mean loss ${trainHere(text).toFixed(4)}`);
await writeTextJob(folder, text);
console.log(`The rest as a job: ${folder}`);

const installed = projectFile('.build/player/bin/python');
const python = process.env['KAON_PLAYER_PYTHON'] ?? (existsSync(installed) ? installed : 'python3');
const env = { ...process.env, PYTHONPATH: projectFile('player'), JAX_PLATFORMS: 'cpu' };
const { status } = spawnSync(python, ['-c', 'import jax, kaon_player.cli'], { env, stdio: 'ignore' }); // prettier-ignore
if (status === 0) await play();
else console.log(`Nothing here can run it. Where the player is installed: kaon-player run ${folder}`); // prettier-ignore

async function play(): Promise<void> {
  const port = await freePort();
  const ending = new AbortController();
  const players = Array.from({ length: processes }, (_, k) => start(k, port));
  const ended = players.map(async (player) => {
    const code = await new Promise<number | null>((resolve) => player.on('close', resolve));
    if (code !== 0) ending.abort(new Error(`a player ended with ${code}`));
  });
  for await (const { step, kind, metrics } of followJob(folder, { signal: ending.signal })) {
    if (kind === 'evaluate') console.log(`  step ${step}: loss ${metrics.loss.toFixed(4)}`);
  }
  await Promise.all(ended);
  await readCheckpoint(folder, text.training);
  console.log(sample(text, 'The ', 200));
}

function start(process: number, port: number): ChildProcess {
  const launch = ['--coordinator', `localhost:${port}`, '--processes', String(processes), '--process', String(process)]; // prettier-ignore
  return spawn(
    python,
    ['-m', 'kaon_player', 'run', folder, '--simulate', String(devices), ...launch],
    { env, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, () => resolve()));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}
