import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { canCompile, inFolder, reached, withTier } from './support.js';

/** Sizes that no other test of this process has used. */
const shape = [37, 59];

const operators: Readonly<Record<string, (x: kn.NDArray) => kn.NDArray>> = {
  tanh: (x) => x.tanh(),
  exp: (x) => x.exp(),
  sin: (x) => x.sin(),
  gelu: (x) => kn.gelu(x),
  erf: (x) => kn.erf(x),
  logSoftmax: (x) => kn.logSoftmax(x),
  cumsum: (x) => kn.cumsum(x, 0),
  sort: (x) => kn.sort(x),
};

test(`eager operators go over to ${reached} together, with fewer compilations than operators`, () => {
  inFolder((folder) => {
    const compiler = join(folder, 'compiler');
    const count = `case "$*" in *-dM*) ;; *) echo >>"$0.count";; esac`;
    writeFileSync(compiler, `#!/bin/sh\n${count}\nexec cc "$@"\n`, { mode: 0o755 });
    const env = { ...process.env, KAON_CC: compiler };
    const before = kn.config.tier;
    withTier({ env, hotMilliseconds: 0, atAnySpeed: true, width: 1 }, (_, cache) => {
      kn.config.tier = 'auto';
      try {
        const elements = Array.from({ length: 37 * 59 }, (_, i) => Math.sin(i));
        const x = kn.array(elements).reshape(shape);
        const first = Object.values(operators).map((operator) => operator(x).dataSync());
        const entries = (): number =>
          existsSync(cache)
            ? readdirSync(cache).filter((name) => name.endsWith('.json')).length
            : 0;
        const wanted = canCompile ? Object.keys(operators).length : 0;
        const end = performance.now() + 120_000;
        // Once they have been made, each is tried at its next look.
        for (let more = 2000; more > 0 && performance.now() < end;) {
          Object.entries(operators).forEach(([name, operator], k) => {
            const made = operator(x).dataSync();
            for (let i = 0; i < made.length; i++) {
              const distance = Math.abs(Number(made[i]) - Number(first[k][i]));
              assert.ok(distance <= 1e-5 * Math.max(1, Math.abs(Number(first[k][i]))), name);
            }
          });
          if (entries() === wanted) more -= 100;
        }
        assert.equal(entries(), wanted);
        const counted = `${compiler}.count`;
        const compiled = existsSync(counted) ? readFileSync(counted, 'utf8').length : 0;
        assert.ok(canCompile ? compiled > 0 && compiled < wanted : compiled === 0, `${compiled}`);
      } finally {
        kn.config.tier = before;
      }
    });
  });
});
