import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { followJob, type JobMetrics } from '../../src/scale.js';
import { projectFile } from '../support/paths.js';

/** Processes of a run, and simulated devices of each. */
const processes = 2;
const devices = 4;

const env = { ...process.env, PYTHONPATH: projectFile('player'), JAX_PLATFORMS: 'cpu' };

/** A Python that has the player's packages; null where there is none. */
export function findPlayer(): string | null {
  const installed = projectFile('.build/player/bin/python');
  const python = process.env['KAON_PLAYER_PYTHON'] ?? (existsSync(installed) ? installed : 'python3'); // prettier-ignore
  const { status } = spawnSync(python, ['-c', 'import jax, kaon_player.cli'], { env, stdio: 'ignore' }); // prettier-ignore
  return status === 0 ? python : null;
}

/**
 * Runs a job in two processes of this machine, as a launcher would on two, and follows it.
 * @throws Error when a process fails.
 */
export async function* play(
  python: string,
  folder: string,
): AsyncGenerator<JobMetrics, void, undefined> {
  const port = await freePort();
  const ending = new AbortController();
  const ended = Array.from({ length: processes }, async (_, k) => {
    const player = start(python, folder, k, port);
    const code = await new Promise<number | null>((resolve) => player.on('close', resolve));
    if (code !== 0) ending.abort(new Error(`process ${k} of the player ended with ${code}`));
  });
  yield* followJob(folder, { signal: ending.signal });
  await Promise.all(ended);
}

function start(python: string, folder: string, index: number, port: number): ChildProcess {
  const launch = ['--coordinator', `localhost:${port}`, '--processes', String(processes), '--process', String(index)]; // prettier-ignore
  const simulate = ['--simulate', String(devices)];
  const command = ['-m', 'kaon_player', 'run', folder, ...simulate, ...launch];
  return spawn(python, command, { env, stdio: ['ignore', 'ignore', 'inherit'] });
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
