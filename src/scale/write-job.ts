import { describe } from '../base/attributes/attribute.js';
import {
  callable,
  checkArgument,
  checkOptions,
  eitherRule,
  finite,
  integerFrom,
  type OptionRules,
  valueRule,
  type ValueRule,
} from '../base/attributes/options.js';
import { ArgumentError, ShapeError } from '../base/errors.js';
import { encodeSafetensors } from '../formats/safetensors.js';
import { recordRule } from '../front/graphs/records.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import { toFileTensor } from '../nn/persistence.js';
import type { StableHloInput } from '../stablehlo/to-stablehlo.js';
import { type Feeding, type JobData, prepareData } from './data.js';
import { JobFolder } from './folder.js';
import { type JobCheckpoints, type JobFile, jobFiles, type JobMesh, type JobRule } from './job.js';
import { checkMesh, checkRules, dataAxis } from './partitions.js';
import { type JobProgram, metricsOf, writePrograms } from './programs.js';

const op = 'writeJob';

/** Options of `writeJob`. */
export interface WriteJobOptions {
  /** Graph of a whole step: forward, backward and update. Of a hybridized function: `step.graphFor(batch)`. */
  readonly step: StaticGraph;
  /** Graph that returns scalars of a batch and changes nothing. */
  readonly evaluate?: StaticGraph;
  /** Graph that draws first values on the devices: outputs are named after the state that they are. */
  readonly init?: StaticGraph;
  /** Examples by input of the step. */
  readonly data: JobData;
  /** Examples by input of `evaluate`. */
  readonly evaluateData?: JobData;
  /** Examples in a batch, over all devices: the size that the step was captured for. */
  readonly batch: number;
  /** Axis of each input along which its examples lie. Default 0. */
  readonly batchAxes?: Readonly<Record<string, number>>;
  /** Steps in all. */
  readonly steps: number;
  /** Steps between evaluations. Default: once, at the end. */
  readonly evaluateEvery?: number;
  /** Extents of the mesh of devices. Default: all devices that there are, along `data`. */
  readonly mesh?: JobMesh;
  /** Partitions of state by regular expressions on its names; the first that matches decides. Default: whole copies. */
  readonly rules?: readonly JobRule[];
  /** Numbers of the host that change, such as `learning_rate`: one for each step, or a function of the step. */
  readonly schedule?: Readonly<Record<string, readonly number[] | ((step: number) => number)>>;
  /** Default every 1000 steps, of which 3 are kept. */
  readonly checkpoint?: JobCheckpoints;
  /** Seed of the order of the examples. Default 0. */
  readonly seed?: number;
  /** Outputs of the step to record. Default: all scalars. */
  readonly metrics?: readonly string[];
}

const anything = <T>(expected: string): ValueRule<T> =>
  valueRule(expected, (value): value is T => value !== undefined);

const optionRules: OptionRules<WriteJobOptions> = {
  // Checked by those that read them.
  step: anything('a graph'),
  evaluate: anything('a graph'),
  init: anything('a graph'),
  data: anything('examples'),
  evaluateData: anything('examples'),
  mesh: anything('a mesh'),
  rules: anything('rules'),
  batch: integerFrom(1),
  batchAxes: recordRule<number>('an axis for each input'),
  steps: integerFrom(1),
  evaluateEvery: integerFrom(1),
  schedule: recordRule<readonly number[]>('numbers for each argument'),
  checkpoint: recordRule<number>('an object with every and keep'),
  seed: integerFrom(0, 2 ** 32 - 1),
  metrics: valueRule(
    'a list of names',
    (value): value is readonly string[] =>
      Array.isArray(value) && value.every((each) => typeof each === 'string'),
  ),
};

/**
 * Writes a training job into a new folder, for `kaon-player run FOLDER`: programs as StableHLO, first values of state,
 * data. Whatever can be checked is checked before anything is written, and `job.json` is written last.
 *
 * @throws ArgumentError, ShapeError or DTypeError for options that do not fit each other; UnsupportedError for graphs
 * with sizes that the data decides; FormatError when the folder cannot be written.
 */
export async function writeJob(folder: string | URL, options: WriteJobOptions): Promise<void> {
  checkOptions<WriteJobOptions>(op, options, optionRules);
  for (const name of ['batch', 'steps'] as const) checkArgument(op, name, options[name], optionRules[name]); // prettier-ignore
  for (const name of ['step', 'evaluate', 'init'] as const) {
    if (name === 'step' || options[name] !== undefined) checkGraph(op, options[name], name);
  }
  const { steps, batch, mesh, rules = [], seed = 0, checkpoint = { every: 1000 } } = options;
  checkOptions<JobCheckpoints>(op, checkpoint, { every: integerFrom(1), keep: integerFrom(1) });
  checkArgument(op, 'checkpoint.every', checkpoint.every, integerFrom(1));
  if (mesh !== undefined) checkMesh(mesh);
  const target = await JobFolder.at(op, folder);
  await target.refuseJob();

  const programs = writePrograms(options);
  const { step, evaluate } = programs;
  checkRules(
    rules,
    mesh,
    programs.arguments.filter(({ kind }) => kind === 'array'),
  );
  const batchAxes = axesOf(options, [step, evaluate]);
  const divided = mesh?.[dataAxis] ?? 1;
  if (batch % divided !== 0) {
    throw new ShapeError('the mesh does not divide the batch', {
      op,
      expected: `a multiple of ${divided}, the extent of ${dataAxis}`,
      actual: String(batch),
    });
  }
  const feeding = feedingOf('data', step, batchAxes);
  checkBatch(feeding, batch);
  const data = prepareData(options.data, 'data', feeding);
  const evaluation = evaluationOf(options, evaluate, batchAxes);
  const schedule = scheduleOf(options, step);
  const job: JobFile = {
    version: 1,
    programs: {
      step: { file: 'step.mlir', meta: step.meta },
      ...(programs.init !== undefined && { init: { file: 'init.mlir', meta: programs.init.meta } }),
      ...(evaluate !== undefined && { evaluate: { file: 'evaluate.mlir', meta: evaluate.meta } }),
    },
    state: programs.state.size === 0 ? null : jobFiles.state,
    data: data.stored,
    ...(evaluation !== undefined && {
      evaluateData: evaluation.stored,
      evaluateEvery: options.evaluateEvery ?? steps,
    }),
    batch,
    batchAxes,
    steps,
    ...(mesh !== undefined && { mesh }),
    rules,
    ...(schedule !== undefined && { schedule }),
    checkpoint: { every: checkpoint.every, keep: checkpoint.keep ?? 3 },
    seed,
    metrics: checkedMetrics(options.metrics, step),
  };

  for (const [name, { file }] of Object.entries(job.programs)) {
    await target.write(file, programs[name as 'step' | 'init' | 'evaluate']!.text);
  }
  const tensors = new Map([...programs.state].map(([name, array]) => [name, toFileTensor(array)]));
  if (job.state !== null) await target.write(job.state, encodeSafetensors({ tensors, metadata: new Map() })); // prettier-ignore
  for (const contents of [data.contents, evaluation?.contents]) {
    for await (const [name, bytes] of contents ?? []) await target.write(name, bytes);
  }
  await target.write(jobFiles.job, `${JSON.stringify(job, null, 2)}\n`);
}

const inputsOf = ({ meta }: JobProgram): readonly StableHloInput<number>[] =>
  meta.inputs.filter(({ kind }) => kind === 'input');

/** The axis of the examples of each input of the programs. */
function axesOf(
  { batchAxes = {} }: WriteJobOptions,
  programs: readonly (JobProgram | undefined)[],
): Readonly<Record<string, number>> {
  const inputs = programs.flatMap((program) => (program === undefined ? [] : inputsOf(program)));
  for (const name of Object.keys(batchAxes)) {
    if (inputs.some((input) => input.name === name)) continue;
    throw new ArgumentError(`batchAxes has ${name}, which is no input`, {
      op,
      expected: inputs.map((input) => input.name).join(', ') || 'no inputs',
      actual: name,
    });
  }
  return Object.fromEntries(
    inputs.map(({ name, shape }) => {
      const axis = Object.hasOwn(batchAxes, name) ? batchAxes[name] : 0;
      if (Number.isSafeInteger(axis) && axis >= 0 && axis < shape.length) return [name, axis];
      throw new ShapeError(`input ${name} has no axis ${describe(axis)} for examples`, {
        op,
        expected: shape.length === 0 ? 'an input with an axis' : `an axis from 0 to ${shape.length - 1}`,
        actual: `[${shape.join(', ')}]`,
      }); // prettier-ignore
    }),
  );
}

function feedingOf(what: string, program: JobProgram, axes: Feeding['axes']): Feeding {
  const inputs = inputsOf(program);
  if (inputs.length === 0) {
    throw new ArgumentError(`nothing takes the ${what}`, {
      op,
      expected: 'a graph with inputs',
      actual: 'a graph without',
      advice: 'give the batch to the captured function as an argument',
    });
  }
  const [{ name, shape }] = inputs;
  const batch = shape[axes[name]];
  const other = inputs.find((input) => input.shape[axes[input.name]] !== batch);
  if (other === undefined) return { what, inputs, axes, batch };
  throw new ShapeError(`inputs ${name} and ${other.name} have batches of different sizes`, {
    op,
    expected: `${batch}, along axis ${axes[other.name]} of ${other.name}`,
    actual: `[${other.shape.join(', ')}]`,
    advice: 'say along which axes the examples lie with batchAxes',
  });
}

function checkBatch({ batch: captured, inputs, axes }: Feeding, batch: number): void {
  if (captured === batch) return;
  const [{ name, shape }] = inputs;
  throw new ShapeError('the step was captured for another batch', {
    op,
    expected: `${batch} examples along axis ${axes[name]} of ${name}`,
    actual: `[${shape.join(', ')}]`,
    advice: 'capture it with graphFor for a batch of this size',
  });
}

function evaluationOf(
  { evaluateData, evaluateEvery, mesh }: WriteJobOptions,
  evaluate: JobProgram | undefined,
  axes: Feeding['axes'],
): ReturnType<typeof prepareData> | undefined {
  if (evaluate !== undefined && evaluateData !== undefined) {
    const feeding = feedingOf('evaluateData', evaluate, axes);
    const divided = mesh?.[dataAxis] ?? 1;
    if (feeding.batch % divided === 0) return prepareData(evaluateData, 'evaluate', feeding);
    throw new ShapeError('the mesh does not divide the batch of evaluate', {
      op,
      expected: `a multiple of ${divided}, the extent of ${dataAxis}`,
      actual: String(feeding.batch),
    });
  }
  if (evaluate === undefined && evaluateData === undefined && evaluateEvery === undefined) return undefined; // prettier-ignore
  throw new ArgumentError('an evaluation needs a graph and data', {
    op,
    expected: 'evaluate and evaluateData',
    actual: evaluate === undefined ? 'no evaluate' : 'no evaluateData',
  });
}

/** Tables of the numbers of the host that change. */
function scheduleOf(
  { schedule, step: graph, steps }: WriteJobOptions,
  step: JobProgram,
): JobFile['schedule'] {
  const numbers = step.meta.inputs.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  for (const name of Object.keys(schedule ?? {})) {
    if (numbers.includes(name)) continue;
    throw new ArgumentError(`the schedule has ${name}, which is no number of the step`, {
      op,
      expected: numbers.join(', ') || 'no numbers',
      actual: name,
    });
  }
  refuseVarying(graph, step, schedule ?? {});
  if (schedule === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(schedule).map(([name, given]) => {
      checkArgument(op, `the schedule of ${name}`, given, eitherRule(callable, listRule));
      const table: readonly unknown[] =
        typeof given === 'function'
          ? Array.from({ length: steps }, (_, k): unknown => given(k))
          : given;
      if (table.length !== steps) {
        throw new ArgumentError(`the schedule of ${name} has another length than the job`, {
          op,
          expected: `${steps} numbers, one for each step`,
          actual: String(table.length),
        });
      }
      table.forEach((value, k) => checkArgument(op, `the schedule of ${name} at step ${k}`, value, finite)); // prettier-ignore
      return [name, table as readonly number[]];
    }),
  );
}

const listRule = valueRule('a list of numbers', (value): value is readonly unknown[] => Array.isArray(value)); // prettier-ignore

/** A number that changes from call to call would be frozen at its present value. */
function refuseVarying(graph: StaticGraph, { meta }: JobProgram, schedule: object): void {
  const { reads } = graph.staticForm.parts;
  const given = meta.inputs.length - reads.length;
  reads.forEach((read, i) => {
    const { name } = meta.inputs[given + i];
    if (read.kind !== 'host' || Object.hasOwn(schedule, name) || read.of.varies?.() !== true) return; // prettier-ignore
    throw new ArgumentError(`${name} changes from step to step`, {
      op,
      expected: 'a schedule for it',
      actual: 'none',
      advice: `pass the function of the optimizer: schedule: { ${name}: rate }`,
    });
  });
}

function checkedMetrics(
  given: readonly string[] | undefined,
  { meta }: JobProgram,
): readonly string[] {
  const known = metricsOf(meta);
  const unknown = given?.find((name) => !known.includes(name));
  if (unknown === undefined) return given ?? known;
  throw new ArgumentError(`the step returns no scalar ${unknown}`, {
    op,
    expected: known.join(', ') || 'no metrics',
    actual: unknown,
  });
}
