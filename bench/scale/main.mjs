// node bench/scale/main.mjs [--rounds N] [--clock wall|cpu] [--only NAME]
// Times training steps that Kaon wrote as StableHLO, under XLA on one core, against the same steps written by hand in
// JAX, and against Kaon natively. All take turns, in one run; the losses of the first steps have to agree.
// KAON_PLAYER_PYTHON names a Python with JAX; without it that of `npm run test:player` is taken.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ContestantProcess } from '../harness/process.mjs';
import { load } from '../dist.mjs';
import { makeStep, names } from './networks.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    clock: { type: 'string', default: 'wall' },
    only: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const { clock } = values;
const { toStableHlo } = await load('src/stablehlo.js');

/** Steps of a round, and steps whose losses are compared. */
const count = 20;
const compared = 5;

const folder = mkdtempSync(join(tmpdir(), 'kaon-steps-'));
const python = process.env.KAON_PLAYER_PYTHON ?? fileURLToPath(new URL('../../.build/player/bin/python', import.meta.url)); // prettier-ignore
const player = new ContestantProcess(python, [fileURLToPath(new URL('serve.py', import.meta.url)), folder], {}); // prettier-ignore

try {
  console.log('| step | written by Kaon, under XLA | by hand in JAX | written / by hand | Kaon | written / Kaon |'); // prettier-ignore
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const name of names) if (name === (values.only ?? name)) await row(name);
} finally {
  player.close();
  rmSync(folder, { recursive: true });
}

async function row(name) {
  const { step, batch } = makeStep(name);
  const { text, meta, state } = toStableHlo(step.graphFor(batch));
  const arrays = Object.entries({ ...state, ...batch }).map(([key, array]) => [key, array.computed()]); // prettier-ignore
  const parts = arrays.map(([, { storage }]) => Buffer.from(storage.host.buffer, storage.host.byteOffset, storage.host.byteLength)); // prettier-ignore
  const described = Object.fromEntries(
    arrays.map(([key, { dtype, shape }], k) => [key, { dtype, shape, bytes: parts[k].length }]),
  );
  writeFileSync(join(folder, `${name}.bin`), Buffer.concat(parts));
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ text, meta, arrays: described }));
  const turns = {
    written: (steps) => player.request({ name, kind: 'written', count: steps, clock }),
    hand: (steps) => player.request({ name, kind: 'hand', count: steps, clock }),
    kaon: (steps) => own(step, batch, steps),
  };
  const first = {};
  for (const [kind, turn] of Object.entries(turns)) first[kind] = (await turn(compared)).losses;
  for (const [kind, losses] of Object.entries(first)) {
    const isSame = losses.every((loss, k) => Math.abs(loss - first.kaon[k]) <= 1e-4 * Math.max(1, Math.abs(first.kaon[k]))); // prettier-ignore
    if (!isSame) throw new Error(`${name}: losses of ${kind} are ${losses}, those of kaon ${first.kaon}`); // prettier-ignore
  }
  for (const turn of Object.values(turns)) await turn(count); // warm
  const seconds = { written: [], hand: [], kaon: [] };
  for (let round = 0; round < rounds; round++) {
    for (const [kind, turn] of Object.entries(turns)) seconds[kind].push((await turn(count)).seconds / count); // prettier-ignore
  }
  const [written, hand, kaon] = ['written', 'hand', 'kaon'].map((kind) => median(seconds[kind]));
  const ms = (value) => `${(value * 1000).toFixed(2)} ms`;
  const ratio = (a, b) => (a / b).toFixed(2);
  console.log(`| ${name} | ${ms(written)} | ${ms(hand)} | ${ratio(written, hand)} | ${ms(kaon)} | ${ratio(written, kaon)} |`); // prettier-ignore
  const tiers = step
    .explain()
    .traces.flatMap((trace) => trace.tiers)
    .map(({ tier }) => tier);
  if (tiers.some((tier) => tier !== 'native')) console.log(`(Kaon ran ${name} on ${[...new Set(tiers)].join(', ')})`); // prettier-ignore
}

function own(step, batch, steps) {
  const start = now();
  const losses = Array.from({ length: steps }, () => step(batch));
  losses.at(-1).item();
  const seconds = now() - start;
  return { seconds, losses: losses.map((loss) => Number(loss.item())) };
}

function now() {
  if (clock === 'wall') return performance.now() / 1000;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function median(list) {
  const sorted = list.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2; // prettier-ignore
}
