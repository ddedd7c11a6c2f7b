import { parseArgs } from 'node:util';

export const usage = `node bench/main.mjs [OPTION ...]
  --only WORDS     rows whose title holds the words; may be given several times
  --peers WORDS    contestants whose name holds the words, beside Kaon; 'none' for Kaon alone
  --tier TIER      wasm, native or auto; default: wasm and native side by side
  --device DEVICE  cpu, webgpu (a GPU), or software-gpu: the software driver, which shows that rows run; default cpu
  --threads N      threads for everybody; default 1
  --rounds N       alternating rounds; default 7
  --clock CLOCK    wall, or cpu where others use the machine: the processor's time, one thread only
  --quick          3 short rounds: shows that rows run, not how fast
  --dist DIR       compiled project; default dist
  --against DIR    another compiled project, which takes part as 'other'
  --list           titles of the rows, nothing measured
  --json           everything, every round included
  --markdown       the page docs/performance.md
  --from FILE      shows what --output or --json wrote, and measures nothing
  --output FILE    also writes what --json prints, and shows rows as they come`;

const clocks = ['wall', 'cpu'];
const tiers = ['wasm', 'native', 'auto'];
const devices = ['cpu', 'webgpu', 'software-gpu'];

function wholeNumber(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`--${name} is a whole number of at least 1, not ${text}`);
  }
  return value;
}

/** @throws RangeError and TypeError for what is no option or no value of one */
export function parseOptions(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      peers: { type: 'string', multiple: true, default: [] },
      tier: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      threads: { type: 'string', default: '1' },
      rounds: { type: 'string' },
      clock: { type: 'string', default: 'wall' },
      quick: { type: 'boolean', default: false },
      dist: { type: 'string' },
      against: { type: 'string' },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      from: { type: 'string' },
      output: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.tier !== undefined && !tiers.includes(values.tier)) {
    throw new RangeError(`--tier is one of ${tiers.join(', ')}, not ${values.tier}`);
  }
  if (!clocks.includes(values.clock)) {
    throw new RangeError(`--clock is one of ${clocks.join(', ')}, not ${values.clock}`);
  }
  const { device } = values;
  if (!devices.includes(device)) {
    throw new RangeError(`--device is one of ${devices.join(', ')}, not ${device}`);
  }
  const isGpu = device !== 'cpu';
  if (isGpu && (values.tier !== undefined || values.threads !== '1' || values.clock !== 'wall')) {
    throw new RangeError('--tier, --threads and --clock are for the CPU');
  }
  const threads = wholeNumber('threads', values.threads);
  if (values.clock === 'cpu' && threads > 1) {
    throw new RangeError("the processor's time says nothing about several threads");
  }
  const { quick } = values;
  return {
    ...values,
    threads,
    isGpu,
    tiers: isGpu ? ['webgpu'] : values.tier === undefined ? ['wasm', 'native'] : [values.tier],
    rounds: wholeNumber('rounds', values.rounds ?? (quick ? '3' : '7')),
    roundMilliseconds: quick ? 20 : 120,
    warmupMilliseconds: quick ? 50 : isGpu ? 300 : 400,
    limitMilliseconds: quick ? 10 : 40,
    // A driver that hangs must not take the machine's time from all other rows.
    answerMilliseconds: isGpu ? 45_000 : 240_000,
    rowMilliseconds: isGpu ? 60_000 : Infinity,
  };
}

/** Whether one of the words is part of a title; no words ask for everything. */
export const wanted = (words, title) =>
  words.length === 0 || words.some((word) => title.toLowerCase().includes(word.toLowerCase()));
