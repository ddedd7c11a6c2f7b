// The tier and the threads of this process, as the variables KAON_TIER and KAON_THREADS ask for them.
import { load } from '../dist.mjs';
import { device } from '../harness/device.mjs';
import { kn } from '../kaon.mjs';

export const tier = process.env.KAON_TIER ?? 'auto';
const threads = Number(process.env.KAON_THREADS ?? 1);

/** Has the GPU finished what it was given. */
let finish;

/** Opens the GPU where there is one to measure: in a worker for code that reads elements as it goes. */
async function openDevice(reads) {
  if (device !== 'webgpu') return;
  await kn.initDevice(device, { worker: reads });
  kn.config.device = device;
  const { backendNamed } = await load('src/runtime/execution/backends.js');
  finish = () => backendNamed(device, 'benchmark').synchronize();
}

/** A run that has ended when the GPU has computed. */
function untilComputed(run) {
  if (run === undefined || finish === undefined) return run;
  return async () => {
    await run();
    await finish();
  };
}

/** What has been captured for the contestant at hand. */
let captured = [];

function remember(hybridized) {
  captured.push(hybridized);
  return hybridized;
}

export const hybridize = (f, options) => remember(kn.hybridize(f, { tier, ...options }));
export const hybridizeBlock = (block) => remember(block.hybridize({ tier }));

/** What does not run on the tier that was asked for, and why; undefined for nothing. */
function notesOn(list) {
  const parts = list.flatMap((one) => one.explain().traces).flatMap(({ tiers }) => tiers);
  const others = parts.filter((part) => tier !== 'auto' && part.tier !== tier);
  const notes = others.map(({ tier, part, reason }) =>
    [part, `on ${tier}`, reason].filter(Boolean),
  );
  return notes.length === 0
    ? undefined
    : [...new Set(notes.map((words) => words.join(': ')))].join('; ');
}

/**
 * A maker of contestants that also tell, with their result, what does not run on the tier. `reads`: their code reads
 * elements as it goes.
 */
export const telling = (make, reads) => async (inputs, work) => {
  const own = (captured = []);
  await openDevice(reads);
  const contestant = await make(inputs, work);
  const { run, result } = contestant;
  return {
    ...contestant,
    run: untilComputed(run),
    result: result && (() => ((captured = own), result())),
    note: () => notesOn(own),
  };
};

/** @throws Error with the reason where this build has no such tier or no threads */
export function requireTier() {
  if (device !== 'cpu') return;
  if (threads > 1 && !('threads' in kn.config)) throw new Error('this build has no threads');
  const probe = hybridize((x) => x.mul(2).add(1));
  const [found] = probe(kn.array([1])).dataSync();
  if (found !== 3) throw new Error(`2 * 1 + 1 gives ${found}`);
}

/** Forms that no compiler of C or shaders is to wait for: loops unrolled by hand are minutes of its work. */
export const unlessCompiled = (forms) => (tier === 'native' || device === 'webgpu' ? {} : forms);

/** A case's input as an array of Kaon. */
export const array = ({ data, shape }) =>
  kn.array(data, { shape, ...(data instanceof Int32Array ? { dtype: 'int32' } : {}) });

/** Runs that leave their result unread: eager and compiled code have computed when they return. */
export const computed = (compute) => ({ run: compute, result: () => compute().data() });

/** Numbers one after the other, of arrays or of lists. */
export function joined(parts) {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
