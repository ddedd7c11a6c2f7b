import { FormatError, named } from '../../base/errors.js';
import { bytesRule, checkArgument, instanceOf, valueRule } from '../../base/attributes/options.js';
import { JsonReader } from '../../base/attributes/reader.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type FileTensor,
} from '../../formats/safetensors.js';
import * as random from '../../front/arrays/random.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { Block } from '../block.js';
import { type Loader, type LoaderState, seedRule } from '../data/loader.js';
import { readFile, replaceFile } from '../files.js';
import { Optimizer } from '../optim/optimizer.js';
import type { OptimizerState } from '../optim/state.js';
import { assignMapped } from '../parameter-map.js';
import { fromFileTensors, parameterValues, readTensors, toFileTensors } from '../persistence.js';

/** Contents of a checkpoint; the random state is always included. */
export interface Checkpoint {
  readonly net: Block;
  readonly optimizer?: Optimizer;
  readonly loader?: Pick<Loader<unknown>, 'state' | 'loadState'>;
}

/** The key and version of this file's metadata. */
const metadataKey = 'kaon.checkpoint';

interface Metadata {
  readonly version: 1;
  readonly random: { readonly seed: string; readonly counter: string };
  readonly optimizer?: { readonly kind: string; readonly steps: number };
  readonly loader?: LoaderState;
}

const group = (
  prefix: string,
  arrays: Iterable<readonly [string, NDArray]>,
): (readonly [string, NDArray])[] =>
  [...arrays].map(([name, array]) => [`${prefix}/${name}`, array]);

const ungroup = (
  prefix: string,
  tensors: ReadonlyMap<string, FileTensor>,
): Map<string, FileTensor> =>
  new Map(
    [...tensors].flatMap(([name, tensor]) =>
      name.startsWith(`${prefix}/`) ? [[name.slice(prefix.length + 1), tensor] as const] : [],
    ),
  );

/** The validated checkpoint. */
export function checkedCheckpoint(op: string, checkpoint: Checkpoint): Checkpoint {
  checkArgument(op, 'checkpoint', checkpoint, anyCheckpoint);
  // Extra fields are accepted: users often keep everything about a run in one object.
  const { net, optimizer, loader } = checkpoint;
  checkArgument(op, 'net', net, instanceOf('a block', Block));
  if (optimizer !== undefined) {
    checkArgument(op, 'optimizer', optimizer, instanceOf('an optimizer', Optimizer));
  }
  if (loader !== undefined) checkArgument(op, 'loader', loader, loaderRule);
  return checkpoint;
}

const anyCheckpoint = valueRule(
  'an object with net and, where there are any, optimizer and loader',
  (value): value is Checkpoint => typeof value === 'object' && value !== null,
);

const loaderRule = valueRule(
  'an object with state and loadState, as a Loader is',
  (value): value is NonNullable<Checkpoint['loader']> =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as NonNullable<Checkpoint['loader']>).state === 'function' &&
    typeof (value as NonNullable<Checkpoint['loader']>).loadState === 'function',
);

/**
 * A checkpoint as bytes, for places without files.
 * @throws DeviceError for arrays on a device that answers later, which `saveCheckpoint` waits for.
 */
export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const { arrays, metadata } = contentsOf('encodeCheckpoint', checkpoint);
  return encodeSafetensors({ tensors: toFileTensors(arrays), metadata });
}

/** All arrays of a checkpoint by name, and the rest as text. */
function contentsOf(
  op: string,
  checkpoint: Checkpoint,
): {
  readonly arrays: readonly (readonly [string, NDArray])[];
  readonly metadata: ReadonlyMap<string, string>;
} {
  const { net, optimizer, loader } = checkedCheckpoint(op, checkpoint);
  const arrays = group('net', parameterValues(net.parameters()));
  const { seed, counter } = random.getState();
  const metadata: Metadata = {
    version: 1,
    random: { seed: String(seed), counter: String(counter) },
    ...(optimizer === undefined
      ? {}
      : { optimizer: { kind: optimizer.constructor.name, steps: optimizer.steps } }),
    ...(loader === undefined ? {} : { loader: loader.state() }),
  };
  if (optimizer !== undefined) arrays.push(...group('optimizer', optimizer.state().arrays));
  return { arrays, metadata: new Map([[metadataKey, JSON.stringify(metadata)]]) };
}

/** Restores the result of `encodeCheckpoint`: training continues as if it had not been interrupted. */
export function decodeCheckpoint(bytes: Uint8Array, checkpoint: Checkpoint): void {
  restore('decodeCheckpoint', bytes, checkpoint);
}

/** @param op Public function, for messages. */
function restore(op: string, bytes: Uint8Array, checkpoint: Checkpoint): void {
  const { optimizer, loader } = checkedCheckpoint(op, checkpoint);
  checkArgument(op, 'bytes', bytes, bytesRule);
  const file = decodeSafetensors(bytes);
  const metadata = readMetadata(op, file.metadata.get(metadataKey));
  const missing = (what: string): FormatError =>
    new FormatError(`the checkpoint has no ${what}`, {
      op,
      expected: `a checkpoint that was saved with a ${what}`,
      actual: `one of ${Object.keys(metadata)
        .filter((key) => key !== 'version')
        .join(' and ')}`,
      advice: `save it with the ${what}, or load it without`,
    });
  if (optimizer !== undefined && metadata.optimizer === undefined) throw missing('optimizer');
  if (loader !== undefined && metadata.loader === undefined) throw missing('loader');
  if (optimizer !== undefined && metadata.optimizer!.kind !== optimizer.constructor.name) {
    throw new FormatError('the checkpoint belongs to another optimizer', {
      op,
      expected: optimizer.constructor.name,
      actual: metadata.optimizer!.kind,
    });
  }
  const slots = fromFileTensors(ungroup('optimizer', file.tensors));
  const { seed, counter } = metadata.random;
  restoreAll(op, checkpoint, {
    random: { seed: BigInt(seed), counter: BigInt(counter) },
    parameters: fromFileTensors(ungroup('net', file.tensors)),
    optimizer: { arrays: slots, steps: metadata.optimizer?.steps ?? 0 },
    loader: metadata.loader,
  });
}

/** State that a checkpoint restores. */
export interface RestoredState {
  /** State of the generator; undefined where it stays. */
  readonly random: random.GeneratorState | undefined;
  readonly parameters: ReadonlyMap<string, NDArray>;
  readonly optimizer: OptimizerState;
  readonly loader?: LoaderState | undefined;
}

/**
 * Restores all of a checkpoint, or nothing if one part fails.
 * @param op Public function, for messages.
 */
export function restoreAll(
  op: string,
  { net, optimizer, loader }: Checkpoint,
  { random: drawn, parameters: arrays, optimizer: state, loader: position }: RestoredState,
): void {
  const parameters = net.parameters();
  const undo: (() => void)[] = [];
  const change = (make: () => void, back: () => void): void => {
    make();
    undo.unshift(back);
  };
  try {
    const before = { random: random.getState(), loader: loader?.state() };
    if (drawn !== undefined) change(() => random.setState(drawn), () => random.setState(before.random)); // prettier-ignore
    change(() => loader?.loadState(position!), () => loader?.loadState(before.loader!)); // prettier-ignore
    // Checked before parameters change, unless they get their sizes from the file.
    if ([...parameters.values()].every((each) => each.isInitialized)) optimizer?.checkState(state);
    else undo.unshift(...[...parameters.values()].map((parameter) => parameter.remember()));
    assignMapped(op, parameters, arrays);
    optimizer?.loadState(state);
  } catch (error) {
    for (const back of undo) back();
    throw error;
  }
}

function readMetadata(op: string, text: string | undefined): Metadata {
  if (text === undefined) {
    throw new FormatError('this file is not a checkpoint', {
      op,
      expected: `metadata under ${metadataKey}`,
      actual: 'a file of tensors without',
      advice: 'read bare parameters with loadParameters',
    });
  }
  let metadata: Partial<Metadata> | null;
  try {
    metadata = JSON.parse(text) as Partial<Metadata> | null;
  } catch (cause) {
    throw new FormatError('the metadata of the checkpoint are not JSON', {
      op,
      expected: 'JSON',
      actual: String((cause as Error).message),
      cause,
    });
  }
  if (metadata?.version !== 1 || metadata.random === undefined) {
    throw new FormatError('the checkpoint is of another version', {
      op,
      expected: '1',
      actual: String(metadata?.version),
    });
  }
  readFields(op, metadata);
  return metadata as Metadata;
}

/** Refuses malformed fields before any of them is used. */
function readFields(op: string, metadata: object): void {
  try {
    const root = new JsonReader(metadata, 'the metadata of the checkpoint');
    for (const name of ['seed', 'counter']) {
      const field = root.field('random').field(name);
      const text = field.string();
      if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) {
        field.fail('a whole number of 64 bits as text');
      }
    }
    const optimizer = root.optional('optimizer');
    optimizer?.field('kind').string();
    optimizer?.field('steps').natural();
    const loader = root.optional('loader');
    for (const name of ['epoch', 'batch']) loader?.field(name).natural();
    const seed = loader?.field('seed');
    if (seed !== undefined && !seedRule.accepts(seed.integer())) seed.fail(seedRule.expected);
  } catch (error) {
    throw named(error, op);
  }
}

/** Atomically writes parameters, optimizer, random state and loader position to one safetensors file. */
export async function saveCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  const { arrays, metadata } = contentsOf('saveCheckpoint', checkpoint);
  const tensors = await readTensors(arrays);
  await replaceFile('saveCheckpoint', path, encodeSafetensors({ tensors, metadata }));
}

/**
 * Loads a checkpoint; training then continues bit for bit.
 * @throws FormatError for a file that is not a checkpoint, or of another version.
 */
export async function loadCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  const op = 'loadCheckpoint';
  checkedCheckpoint(op, checkpoint);
  restore(op, await readFile(op, path), checkpoint);
}
