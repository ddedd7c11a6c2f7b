// `node dist/examples/scale/run.js [FOLDER]`: a transformer learns the text of this project's own pages. One epoch runs
// here; the rest is written as a job, which two processes of `kaon-player` run on four simulated devices each, and read
// back to write some text. Without the player (`npm run test:player` installs one, or KAON_PLAYER_PYTHON names a Python
// that has it) the job is written and left.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCheckpoint } from '../../src/scale.js';
import { makeTraining, sample, trainHere, writeTextJob } from './job.js';
import { findPlayer, play } from './play.js';

const folder = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'kaon-')), 'job');
const text = makeTraining();
console.log(`One epoch here: mean loss ${trainHere(text).toFixed(4)}`);
await writeTextJob(folder, text);
console.log(`The rest as a job: ${folder}`);

const python = findPlayer();
if (python === null) {
  console.log(`Nothing here can run it. Where the player is installed: kaon-player run ${folder}`);
} else {
  for await (const { step, kind, metrics } of play(python, folder)) {
    if (kind === 'evaluate') console.log(`  step ${step}: loss ${metrics.loss.toFixed(4)}`);
  }
  await readCheckpoint(folder, text.training);
  console.log(sample(text, 'The ', 200));
}
