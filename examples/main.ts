// `npm start`: two networks learn from real data. Their training step is imperative TypeScript that runs
// as one compiled program; the trained networks are saved as graphs, and run again in another process
// from the files alone. Then one of them leaves Kaon in three forms. `npm start -- --device webgpu` does all of it on a
// GPU.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareDigits, runDigits } from './digits/run.js';
import { compareNames, runNames, shippedNames } from './names/run.js';
import { deploy } from './shipping/deploy.js';
import { deviceOption, startOn } from './support/device.js';
import { saveGraph } from './support/graph-files.js';
import { percent } from './support/progress.js';
import { explanationLines, speedLine } from './support/summary.js';
import type { TrainingReport } from './support/training.js';

const device = deviceOption(process.argv.slice(2));
await startOn(device);
const folder = mkdtempSync(join(tmpdir(), 'kaon-'));
const files = { digits: join(folder, 'digits.json'), names: join(folder, 'names.json') };
const start = performance.now();

function printStep(report: TrainingReport, speeds: string, what: string): void {
  console.log(`  a training step on ${what}: ${speeds}`);
  console.log(`  what became of the training step, as explain() tells it:\n`);
  for (const line of explanationLines(report.explanation)) console.log(line);
}

console.log('Handwritten digits, a small convolutional network');
const digits = runDigits();
printStep(digits, speedLine(compareDigits()), '64 images');
console.log(`  accuracy on 360 held-out images: ${percent(digits.accuracy)}`);
saveGraph(files.digits, digits.graph);
console.log(`  graph saved to ${files.digits}\n`);

console.log('Which of ten languages is this name written in? A character-level LSTM');
const names = runNames();
printStep(names, speedLine(compareNames()), '64 names');
console.log(
  `  accuracy on names of unseen entities: ${percent(names.accuracy)}; letter frequencies alone: ${percent(names.baseline)}`,
);
const notes = { alphabet: names.alphabet, longest: names.longest };
saveGraph(files.names, names.graph, notes);
console.log(`  graph saved to ${files.names}\n`);

console.log('Another process, which has the files but not the networks:');
const reload = fileURLToPath(new URL('./reload.js', import.meta.url));
const output = execFileSync(process.execPath, [reload, files.digits, files.names, device], {
  encoding: 'utf8',
});
const again: { readonly digits: number; readonly names: number } = JSON.parse(output);
console.log(`  digits ${percent(again.digits)}, names ${percent(again.names)}`);
if (again.digits !== digits.accuracy || again.names !== names.accuracy) {
  console.error('  which is not what the first process measured');
  process.exitCode = 1;
}

console.log(`\nThe reader of names as files that need nothing of Kaon, in ${folder}:`);
const { lines, isRight } = await deploy(shippedNames(names), folder);
for (const line of lines) console.log(`  ${line}`);
if (!isRight) {
  console.error('  which is not what eager code computes');
  process.exitCode = 1;
}
console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} seconds in all`);
