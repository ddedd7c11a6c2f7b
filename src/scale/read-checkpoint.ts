import { FormatError } from '../base/errors.js';
import { decodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import type { GeneratorState } from '../front/dispatch/generator.js';
import type { NDArray } from '../front/core/ndarray.js';
import { array } from '../front/arrays/creation.js';
import { checkArgument, instanceOf, valueRule } from '../base/attributes/options.js';
import { Block } from '../nn/block.js';
import { restoreAll } from '../nn/training/checkpoint.js';
import { Optimizer } from '../nn/optim/optimizer.js';
import type { OptimizerState } from '../nn/optim/state.js';
import { fromFileTensor } from '../nn/persistence.js';
import { JobFolder } from './folder.js';
import { type JobFile, jobFiles } from './job.js';

const op = 'readCheckpoint';

/** Receivers of what a job has trained. */
export interface JobCheckpoint {
  readonly net: Block;
  readonly optimizer?: Optimizer;
}

const anyReceivers = valueRule('an object with net and, if it is wanted, optimizer', (value): value is JobCheckpoint => typeof value === 'object' && value !== null); // prettier-ignore

/**
 * Loads what a job has trained into a network and its optimizer, and the state of the random generator. Either may be
 * new: sizes come from the file. Nothing changes when anything does not fit.
 *
 * @throws FormatError for a job that has no gathered state yet, and for one of another network or optimizer.
 */
export async function readCheckpoint(
  folder: string | URL,
  checkpoint: JobCheckpoint,
): Promise<void> {
  checkArgument(op, 'checkpoint', checkpoint, anyReceivers);
  const { net, optimizer } = checkpoint;
  checkArgument(op, 'net', net, instanceOf('a block', Block));
  if (optimizer !== undefined) checkArgument(op, 'optimizer', optimizer, instanceOf('an optimizer', Optimizer)); // prettier-ignore
  const target = await JobFolder.at(op, folder);
  const job = await target.readJob();
  if (!target.exists(jobFiles.final)) {
    throw new FormatError('the job has no gathered state', {
      op,
      expected: jobFiles.final,
      actual: 'a job that has not ended',
      advice: 'gather the newest checkpoint with: kaon-player gather FOLDER',
    });
  }
  const { tensors } = decodeSafetensors(await target.read(jobFiles.final));
  checkWhole(job, tensors);
  const parameters = net.parameters();
  const values = new Map(
    [...parameters.keys()].flatMap((name) => {
      const tensor = tensors.get(name);
      return tensor === undefined ? [] : [[name, fromFileTensor(tensor)] as const];
    }),
  );
  const random = randomState(tensors);
  const optimizers = optimizer === undefined ? [] : [[optimizer, stateOf(optimizer, tensors)] as const]; // prettier-ignore
  restoreAll(op, { random, parameters, values, optimizers });
}

/** Checks that a file holds the state of a job: all of it, with its types. */
function checkWhole({ programs }: JobFile, tensors: ReadonlyMap<string, FileTensor>): void {
  for (const { name, dtype, shape, kind } of programs.step.meta.inputs) {
    if (kind !== 'array') continue;
    const tensor = tensors.get(name);
    const expected = `${dtype}[${shape.join(', ')}]`;
    const actual = tensor === undefined ? 'nothing' : `${tensor.dtype}[${tensor.shape.join(', ')}]`;
    if (actual === expected) continue;
    throw new FormatError(`${jobFiles.final} has another ${name} than the job`, {
      op,
      expected,
      actual,
      advice: 'gather it again with: kaon-player gather FOLDER',
    });
  }
}

function randomState(tensors: ReadonlyMap<string, FileTensor>): GeneratorState | undefined {
  const tensor = tensors.get('random');
  if (tensor?.dtype !== 'int64' || String(tensor.shape) !== '2') return undefined;
  const [seed, counter] = tensor.data as BigInt64Array;
  return { seed, counter };
}

/**
 * State of the optimizer, as its `loadState` takes it. Programs count the updates of all parameters in one array;
 * what is missing is told there.
 */
function stateOf(optimizer: Optimizer, tensors: ReadonlyMap<string, FileTensor>): OptimizerState {
  const steps = tensors.get('steps');
  if (steps?.dtype !== 'int64' || steps.shape.length > 0) {
    throw new FormatError('the job has no count of the steps of an optimizer', {
      op,
      expected: 'a step that calls optimizer.step()',
      actual: [...tensors.keys()].join(', '),
      advice: 'read it without the optimizer',
    });
  }
  const names = [...optimizer.parameters.keys()];
  const arrays = new Map<string, NDArray>(
    [...tensors].flatMap(([name, tensor]) => name.includes('/') ? [[name, fromFileTensor(tensor)] as const] : []), // prettier-ignore
  );
  const counts = tensors.get('updates');
  if (counts !== undefined && (counts.dtype !== 'int64' || counts.data.length !== names.length)) {
    throw new FormatError('the job has trained another number of parameters', {
      op,
      expected: String(names.length),
      actual: String(counts.data.length),
    });
  }
  names.forEach((name, at) => {
    if (counts === undefined || counts.data[at] === steps.data[0]) return;
    arrays.set(
      `${name}/updates`,
      array(BigInt64Array.of(counts.data[at] as bigint), { shape: [] }),
    );
  });
  return { arrays, steps: Number(steps.data[0]) };
}
