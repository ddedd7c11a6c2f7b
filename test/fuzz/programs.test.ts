import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Census, isReplay, runCampaign, seedsOf } from './campaign.js';

/*
 * Random programs give the same, step by step and compiled in every way there is, gradients included.
 * `KAON_LONG_TESTS=1` takes 10,000 fresh ones; `KAON_SEED=7 KAON_PROGRAMS=1` runs one again.
 */

const seeds = seedsOf([1, 300]);

test(`random programs of the seeds ${seeds[0]} to ${seeds.at(-1)} agree however they are run`, () => {
  const census = new Census();
  runCampaign(seeds, census);
  if (!isReplay) census.check();
  assert.ok(seeds.length > 0);
});
