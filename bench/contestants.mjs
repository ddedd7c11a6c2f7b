// Who takes part, and how each is started.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * A contestant: its name, the technology whose limits apply to it, how it is started, and whether each row
 * gets a process of its own. Engines specialize code for what they have seen, so those that run in one do.
 */
function nodeContestant(name, technology, script, environment = {}) {
  const commands = [[process.execPath, here(script)]];
  return { name, technology, commands, environment, fresh: true };
}

/** Kaon on a tier, or on a GPU. */
export function kaon(tier, { threads, dist, name = `kaon ${tier}` }) {
  const environment = {
    KAON_TIER: tier === 'webgpu' ? 'auto' : tier,
    KAON_THREADS: String(threads),
    ...(dist === undefined ? {} : { KAON_DIST: dist }),
  };
  const technology = tier === 'wasm' || tier === 'webgpu' ? tier : 'native';
  return nodeContestant(name, technology, 'kaon/main.mjs', environment);
}

/** Interpreters to try, in this order; the first that has a peer's packages runs it. */
const pythons = [
  process.env.KAON_PYTHON,
  here('.venv/bin/python'),
  here('.venv/Scripts/python.exe'),
  here('.venv-mxnet/bin/python'),
].filter((path) => path && existsSync(path));

function pythonContestant(name, module, threads, technology = 'native') {
  const count = String(threads);
  const commands = [...pythons, 'python3'].map((python) => [python, here('peers.py'), module]);
  const environment = {
    OMP_NUM_THREADS: count,
    MKL_NUM_THREADS: count,
    OPENBLAS_NUM_THREADS: count,
    KAON_BENCH_THREADS: count,
    PYTHONUNBUFFERED: '1',
  };
  return { name, technology, commands, environment, fresh: false };
}

/** Those that compute on a GPU in this run: by WebGPU as Kaon does, and PyTorch by CUDA, to show what is possible. */
const gpuPeers = [
  nodeContestant('TF.js', 'webgpu', 'tfjs/main.mjs'),
  nodeContestant('jax-js', 'webgpu', 'jaxjs/main.mjs'),
  pythonContestant('PyTorch', 'torch', 1, 'cuda'),
];

/** Everybody but Kaon. */
export const peers = ({ threads, isGpu }) => {
  if (isGpu) return gpuPeers;
  const environment = { KAON_BENCH_THREADS: String(threads) };
  return [
    nodeContestant('TF.js', 'wasm', 'tfjs/main.mjs', environment),
    nodeContestant('jax-js', 'wasm', 'jaxjs/main.mjs', environment),
    nodeContestant('onnxruntime', 'native', 'onnxruntime/main.mjs', environment),
    pythonContestant('OpenBLAS', 'numpy', threads),
    pythonContestant('PyTorch', 'torch', threads),
    pythonContestant('JAX', 'jax', threads),
    pythonContestant('MXNet', 'mxnet', threads),
  ];
};
