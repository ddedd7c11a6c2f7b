// `node dist/examples/scale/run.js [FOLDER]`: the transformer of `examples/attention` as a job. It is written here, run
// by `kaon-player` on eight simulated devices, followed, and read back to answer tasks it has not seen. Without the
// player (`pip install ./player`, or KAON_PLAYER_PYTHON names a Python that has it) the job is written and left.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followJob, readCheckpoint } from '../../src/scale.js';
import { answersOf } from '../attention/run.js';
import { writeDigitsJob } from './job.js';

const folder = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'kaon-')), 'job');
const { training } = await writeDigitsJob(folder);
console.log(`The training of a transformer as a job: ${folder}`);

const python = process.env['KAON_PLAYER_PYTHON'] ?? 'python3';
const { status } = spawnSync(python, ['-c', 'import kaon_player.cli'], { stdio: 'ignore' });
if (status === 0) await play();
else
  console.log(`Nothing here can run it. Where the player is installed: kaon-player run ${folder}`);

async function play(): Promise<void> {
  const player = spawn(python, ['-m', 'kaon_player', 'run', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      JAX_PLATFORMS: 'cpu',
      XLA_FLAGS: '--xla_force_host_platform_device_count=8',
    },
  });
  const ending = new AbortController();
  const ended = new Promise<void>((resolve) => {
    player.on('close', (code) => {
      if (code !== 0) ending.abort(new Error(`the player ended with ${code}`));
      resolve();
    });
  });
  for await (const { step, kind, metrics } of followJob(folder, { signal: ending.signal })) {
    if (kind === 'evaluate') console.log(`  step ${step}: loss ${metrics.loss.toFixed(4)}`);
  }
  await ended;
  await readCheckpoint(folder, training);
  for (const task of [
    [3, 1, 4, 1, 5],
    [2, 7],
    [9, 0, 6, 4],
  ]) {
    const [answer] = answersOf(training.net, [task]);
    console.log(`  ${task.join('')} reversed: ${answer.slice(task.length + 1, -1).join('')}`);
  }
}
