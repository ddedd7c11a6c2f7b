import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { pathToFileURL } from 'node:url';

/** How tests run: as `scripts/test.mjs` runs them. */
export const environment = { KAON_TIER: 'wasm', KAON_RELAXED: '0', KAON_DEBUG: 'verify' };

/** The places of a script at which execution begins or ends, from the nested ranges of its functions. */
function steps(functions) {
  const ranges = functions.flatMap(({ ranges }) => ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const found = [];
  const open = [];
  const close = (until) => {
    while (open.length > 0 && open[open.length - 1].endOffset <= until) {
      const { endOffset } = open.pop();
      found.push([endOffset, open.length > 0 && open[open.length - 1].count > 0]);
    }
  };
  for (const range of ranges) {
    close(range.startOffset);
    open.push(range);
    found.push([range.startOffset, range.count > 0]);
  }
  close(Infinity);
  return found;
}

function isReached(found, offset) {
  let reached = false;
  for (const [at, runs] of found) {
    if (at > offset) break;
    reached = runs;
  }
  return reached;
}

/**
 * What of the compiled sources a test file executes, and how long it takes; measured once, and again when the test
 * has been compiled anew.
 */
export function reachOf(dist, test) {
  const folder = `${dist}/reach`;
  const file = `${folder}/${test.replaceAll('/', '+')}.json`;
  const isCurrent =
    existsSync(file) && statSync(file).mtimeMs >= statSync(`${dist}/${test}`).mtimeMs;
  if (isCurrent) return JSON.parse(readFileSync(file, 'utf8'));
  const raw = `${folder}/raw`;
  rmSync(raw, { recursive: true, force: true });
  mkdirSync(raw, { recursive: true });
  const started = performance.now();
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', `${dist}/${test}`], {
    env: { ...process.env, ...environment, NODE_V8_COVERAGE: raw },
    stdio: 'ignore',
    timeout: 600_000,
  });
  const milliseconds = performance.now() - started;
  const sources = {};
  const base = pathToFileURL(`${dist}/`).href;
  for (const name of readdirSync(raw)) {
    for (const { url, functions } of JSON.parse(readFileSync(`${raw}/${name}`, 'utf8')).result) {
      if (!url.startsWith(`${base}src/`)) continue;
      (sources[url.slice(base.length)] ??= []).push(steps(functions));
    }
  }
  rmSync(raw, { recursive: true, force: true });
  if (status !== 0) console.log(`${test} fails by itself`);
  const reach = { passes: status === 0, milliseconds, sources };
  writeFileSync(file, JSON.stringify(reach));
  return reach;
}

/** Whether a test file executes the code at a place. */
export function reaches({ sources }, path, offset) {
  return (sources[path] ?? []).some((found) => isReached(found, offset));
}
