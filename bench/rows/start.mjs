// Cold starts, each in a process of its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { coldRun } from '../cold/run.mjs';
import { relativeError } from '../harness/statistics.mjs';

const section = 'Start';
const execute = promisify(execFile);

/** What a program waits for before its first line that uses the library. */
const importRow = {
  section,
  title: 'import',
  unit: 'ms',
  targets: [{ who: 'kaon', most: 60 }],
  entries({ options, contestants }) {
    const scripts = {
      kaon: 'kaon',
      'TF.js': 'tfjs',
      'jax-js': 'jaxjs',
      onnxruntime: 'onnxruntime',
    };
    const names = ['kaon', ...contestants.map(({ name }) => name)];
    const ours = Object.entries(scripts)
      .filter(([name]) => names.includes(name))
      .map(([name, which]) => ({
        name,
        technology: 'wasm',
        round: async () => (await coldRun('import.mjs', [which], options)).milliseconds,
      }));
    const modules = { PyTorch: 'torch', JAX: 'jax', MXNet: 'mxnet' };
    const pythons = contestants
      .filter(({ name }) => modules[name] !== undefined)
      .map(({ name, commands }) => ({
        name,
        technology: 'native',
        round: () => pythonImport(commands, modules[name]),
      }));
    return [...ours, ...pythons];
  },
  rounds: 5,
};

/** By the first interpreter that has the module. */
async function pythonImport(commands, module) {
  const clock = process.env.KAON_BENCH_CLOCK === 'cpu' ? 'process_time' : 'perf_counter';
  const code = `from time import ${clock} as clock; start = clock(); import ${module}; print((clock() - start) * 1000)`;
  for (const [python] of commands) {
    try {
      const { stdout } = await execute(python, ['-c', code]);
      return Number(stdout.trim().split('\n').at(-1));
    } catch {
      // Not this one.
    }
  }
  throw new Error(`no Python has ${module}`);
}

/** Milliseconds of one cold start, after its result was checked. */
async function firstResult(work, form, options) {
  const { milliseconds, result, reference } = await coldRun(
    'first-result.mjs',
    [work, form],
    options,
  );
  const error = relativeError(result, reference);
  if (!(error <= 1e-4)) throw new Error(`computes something else: relative error ${error}`);
  return milliseconds;
}

const coldRow = (work, compiled) => ({
  section,
  title: `first result: capture and compile, 50-layer network, ${work}`,
  unit: 'ms',
  rounds: 5,
  targets: [
    { who: 'kaon wasm', most: 100 },
    { who: 'kaon auto', than: 'kaon wasm', times: 0.9 },
  ],
  entries({ options }) {
    const tiers = options.tier === undefined ? ['wasm', 'auto'] : [options.tier];
    const entry = (name, form, tier) => ({
      name,
      technology: 'wasm',
      round: () => firstResult(work, form, { ...options, tier }),
    });
    return [
      ...tiers.map((tier) => entry(`kaon ${tier} ${compiled}`, 'compiled', tier)),
      entry('kaon eager', 'eager', tiers[0]),
    ];
  },
});

export const rows = [
  importRow,
  coldRow('inference', 'hybridized'),
  coldRow('training', 'whole step'),
];
