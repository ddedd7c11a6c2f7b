import { FormatError, named } from '../../base/errors.js';
import { bytesRule, checkArgument, valueRule } from '../../base/attributes/options.js';
import type { ValueRule } from '../../base/attributes/attribute.js';
import { JsonReader } from '../../base/attributes/reader.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type FileTensor,
} from '../../formats/safetensors.js';
import * as random from '../../front/arrays/random.js';
import { generatorMoment, promisedState, returnTo } from '../../front/dispatch/generator.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { Block } from '../block.js';
import { type Loader, type LoaderState, seedRule } from '../data/loader.js';
import { readFile, replaceFile } from '../files.js';
import { Optimizer } from '../optim/optimizer.js';
import type { Parameter } from '../parameter.js';
import type { OptimizerState } from '../optim/state.js';
import { assignMapped } from '../parameter-map.js';
import { fromFileTensors, parameterValues, readTensors, toFileTensors } from '../persistence.js';

/** Contents of a checkpoint; the random state is always included. */
export interface Checkpoint {
  /** A network, or several by name, as of a GAN. */
  readonly net: Block | Readonly<Record<string, Block>>;
  /** The optimizer that trains it, or several by name. */
  readonly optimizer?: Optimizer | Readonly<Record<string, Optimizer>>;
  readonly loader?: Pick<Loader<unknown>, 'state' | 'loadState'>;
}

/** The key and version of this file's metadata. */
const metadataKey = 'kaon.checkpoint';

interface Metadata {
  readonly version: 1;
  readonly random: { readonly seed: string; readonly counter: string };
  readonly optimizer?: OptimizerMetadata;
  /** Several optimizers by name. */
  readonly optimizers?: Readonly<Record<string, OptimizerMetadata>>;
  readonly loader?: LoaderState;
}

interface OptimizerMetadata {
  readonly kind: string;
  readonly steps: number;
}

/** Contents of a checkpoint, taken apart. */
interface Contents {
  /** Of several networks by `name.path`. */
  readonly parameters: ReadonlyMap<string, Parameter>;
  /** By name; a single one by null. */
  readonly optimizers: ReadonlyMap<string | null, Optimizer>;
  readonly loader: Checkpoint['loader'];
}

/** The prefix of an optimizer's arrays. */
const optimizerGroup = (name: string | null): string => name === null ? 'optimizer' : `optimizer/${name}`; // prettier-ignore

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

/** The contents of a checkpoint, which is validated. */
function checkedContents(op: string, checkpoint: Checkpoint): Contents {
  checkArgument(op, 'checkpoint', checkpoint, anyCheckpoint);
  // Extra fields are accepted: users often keep everything about a run in one object.
  const { net, optimizer = {}, loader } = checkpoint;
  checkArgument(op, 'net', net, networks);
  if (checkpoint.optimizer !== undefined) checkArgument(op, 'optimizer', optimizer, optimizers);
  if (loader !== undefined) checkArgument(op, 'loader', loader, loaderRule);
  const named: readonly (readonly [string | null, Optimizer])[] =
    optimizer instanceof Optimizer ? [[null, optimizer]] : Object.entries(optimizer);
  return { parameters: parametersOf(net), optimizers: new Map(named), loader };
}

function parametersOf(net: Checkpoint['net']): ReadonlyMap<string, Parameter> {
  if (net instanceof Block) return net.parameters();
  const all = new Map<string, Parameter>();
  for (const [name, each] of Object.entries(net)) {
    for (const [path, parameter] of each.parameters()) all.set(`${name}.${path}`, parameter);
  }
  return all;
}

/** One object of a class, or a record of such. */
const oneOrNamed = <T extends object>(
  what: string,
  isOne: (value: unknown) => value is T,
): ValueRule<T | Readonly<Record<string, T>>> =>
  valueRule(`${what}, or an object of such by name`, (value): value is T | Readonly<Record<string, T>> => {
    if (isOne(value)) return true;
    const entries = typeof value === 'object' && value !== null ? Object.values(value) : [];
    return entries.length > 0 && entries.every(isOne);
  }); // prettier-ignore

const networks = oneOrNamed('a block', (value): value is Block => value instanceof Block);
const optimizers = oneOrNamed('an optimizer', (value): value is Optimizer => value instanceof Optimizer); // prettier-ignore

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
  return encodeSafetensors({
    tensors: toFileTensors(arrays),
    metadata: metadata(random.getState()),
  });
}

/** All arrays of a checkpoint by name, and the rest as text. */
function contentsOf(
  op: string,
  checkpoint: Checkpoint,
): {
  readonly arrays: readonly (readonly [string, NDArray])[];
  readonly metadata: (drawn: random.GeneratorState) => ReadonlyMap<string, string>;
} {
  const { parameters, optimizers, loader } = checkedContents(op, checkpoint);
  const arrays = group('net', parameterValues(parameters));
  const kinds = new Map<string | null, OptimizerMetadata>();
  for (const [name, optimizer] of optimizers) {
    const { arrays: slots, steps } = optimizer.state();
    kinds.set(name, { kind: optimizer.constructor.name, steps });
    arrays.push(...group(optimizerGroup(name), slots));
  }
  const single = kinds.get(null);
  const rest: Omit<Metadata, 'random'> = {
    version: 1,
    ...(single !== undefined && { optimizer: single }),
    ...(single === undefined && kinds.size > 0 && { optimizers: Object.fromEntries(kinds) }),
    ...(loader !== undefined && { loader: loader.state() }),
  };
  const metadata = ({ seed, counter }: random.GeneratorState): ReadonlyMap<string, string> => {
    const all: Metadata = { ...rest, random: { seed: String(seed), counter: String(counter) } };
    return new Map([[metadataKey, JSON.stringify(all)]]);
  };
  return { arrays, metadata };
}

/** Restores the result of `encodeCheckpoint`: training continues as if it had not been interrupted. */
export function decodeCheckpoint(bytes: Uint8Array, checkpoint: Checkpoint): void {
  restore('decodeCheckpoint', bytes, checkpoint);
}

/** @param op Public function, for messages. */
function restore(op: string, bytes: Uint8Array, checkpoint: Checkpoint): void {
  const { parameters, optimizers, loader } = checkedContents(op, checkpoint);
  checkArgument(op, 'bytes', bytes, bytesRule);
  const file = decodeSafetensors(bytes);
  const metadata = readMetadata(op, file.metadata.get(metadataKey));
  const told = Object.entries(metadata)
    .filter(([key]) => key !== 'version')
    .map(([key, value]) => key === 'optimizers' ? `optimizers ${Object.keys(value as object).join(', ')}` : key); // prettier-ignore
  const missing = (what: string): FormatError =>
    new FormatError(`the checkpoint has no ${what}`, {
      op,
      expected: `a checkpoint that was saved with a ${what}`,
      actual: `one of ${told.join(' and ')}`,
      advice: `save it with the ${what}, or load it without`,
    });
  if (loader !== undefined && metadata.loader === undefined) throw missing('loader');
  const states = [...optimizers].map(([name, optimizer]) => {
    const what = name === null ? 'optimizer' : `optimizer ${name}`;
    const own = name === null ? metadata.optimizer : metadata.optimizers?.[name];
    if (own === undefined) throw missing(what);
    if (own.kind !== optimizer.constructor.name) {
      throw new FormatError(`the checkpoint belongs to another ${what}`, {
        op,
        expected: optimizer.constructor.name,
        actual: own.kind,
      });
    }
    const arrays = fromFileTensors(ungroup(optimizerGroup(name), file.tensors));
    return [optimizer, { arrays, steps: own.steps }] as const;
  });
  const { seed, counter } = metadata.random;
  restoreAll(op, {
    random: { seed: BigInt(seed), counter: BigInt(counter) },
    parameters,
    values: fromFileTensors(ungroup('net', file.tensors)),
    optimizers: states,
    ...(loader !== undefined && { loader, position: metadata.loader! }),
  });
}

/** Receivers of a checkpoint, and the state that they get. */
export interface Restored {
  /** State of the generator; undefined where it stays. */
  readonly random: random.GeneratorState | undefined;
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly values: ReadonlyMap<string, NDArray>;
  readonly optimizers: readonly (readonly [Optimizer, OptimizerState])[];
  readonly loader?: NonNullable<Checkpoint['loader']>;
  readonly position?: LoaderState;
}

/**
 * Restores all of a checkpoint, or nothing if one part fails.
 * @param op Public function, for messages.
 */
export function restoreAll(
  op: string,
  { random: drawn, parameters, values, optimizers, loader, position }: Restored,
): void {
  const undo: (() => void)[] = [];
  const change = (make: () => void, back: () => void): void => {
    make();
    undo.unshift(back);
  };
  try {
    const before = { random: generatorMoment(), loader: loader?.state() };
    if (drawn !== undefined) change(() => random.setState(drawn), () => returnTo(before.random)); // prettier-ignore
    change(() => loader?.loadState(position!), () => loader?.loadState(before.loader!)); // prettier-ignore
    // Checked before parameters change, unless they get their sizes from the file.
    const check = (): void => optimizers.forEach(([each, state]) => each.checkState(state));
    const areSized = [...parameters.values()].every((each) => each.isInitialized);
    if (areSized) check();
    else undo.unshift(...[...parameters.values()].map((parameter) => parameter.remember()));
    assignMapped(op, parameters, values);
    if (!areSized) check();
    for (const [each, state] of optimizers) each.loadState(state);
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
    const named = root.optional('optimizers');
    const names = Object.keys((metadata as Metadata).optimizers ?? {});
    const optimizers = [root.optional('optimizer'), ...names.map((name) => named!.field(name))];
    for (const optimizer of optimizers) {
      optimizer?.field('kind').string();
      optimizer?.field('steps').natural();
    }
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
  const [tensors, drawn] = await Promise.all([readTensors(arrays), promisedState()]);
  const bytes = encodeSafetensors({ tensors, metadata: metadata(drawn) });
  await replaceFile('saveCheckpoint', path, bytes);
}

/**
 * Loads a checkpoint; training then continues bit for bit.
 * @throws FormatError for a file that is not a checkpoint, or of another version.
 */
export async function loadCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  const op = 'loadCheckpoint';
  checkedContents(op, checkpoint);
  restore(op, await readFile(op, path), checkpoint);
}
