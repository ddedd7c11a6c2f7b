// Cold starts, each in a process of its own.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { checkResult, ratios } from '../harness.mjs';

const script = fileURLToPath(new URL('../firstresult.mjs', import.meta.url));

/** Milliseconds of one cold start, after its result was checked. */
function coldStart(name, work, form) {
  const output = execFileSync(process.execPath, [script, work, form], { encoding: 'utf8' });
  const { milliseconds, result, reference } = JSON.parse(output);
  checkResult({ name, reference }, form, result);
  return milliseconds;
}

function coldRow(work, compiled) {
  const title = `first result: capture and compile, 50-layer network, ${work}`;
  return {
    title,
    build: async ({ rounds }) => {
      const forms = { [compiled]: 'compiled', 'kaon eager': 'eager' };
      const times = Object.fromEntries(Object.keys(forms).map((name) => [name, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [name, form] of Object.entries(forms)) {
          times[name].push(coldStart(title, work, form));
        }
      }
      const figures = {};
      for (const [name, list] of Object.entries(times)) {
        list.sort((a, b) => a - b);
        const median = list[list.length >> 1];
        figures[name] = { best: list[0], median, noise: median / list[0] };
      }
      return { name: title, unit: 'ms', figures, note: ratios(figures, 'kaon eager') };
    },
  };
}

export const rows = [
  coldRow('inference', 'kaon hybridized'),
  coldRow('training', 'kaon whole step'),
];
