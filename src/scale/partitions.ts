import { describe } from '../base/attributes/attribute.js';
import { integerFrom } from '../base/attributes/options.js';
import { ArgumentError, ShapeError } from '../base/errors.js';
import type { StableHloInput } from '../stablehlo/to-stablehlo.js';
import type { JobMesh, JobPartition, JobRule } from './job.js';

const op = 'writeJob';

/** Name of the mesh axis along which batches are divided, and state whose rule says `fsdp`. */
export const dataAxis = 'data';

/** @throws ArgumentError for a value that is not a mesh. */
export function checkMesh(mesh: unknown): asserts mesh is JobMesh {
  const isRecord = typeof mesh === 'object' && mesh !== null && !Array.isArray(mesh);
  const wrong = isRecord
    ? Object.entries(mesh).find(([, extent]) => !integerFrom(1).accepts(extent))
    : undefined;
  // Objects order names that are whole numbers themselves.
  const numeric = isRecord ? Object.keys(mesh).find((name) => /^\d*$/.test(name)) : undefined;
  if (isRecord && wrong === undefined && numeric === undefined && Object.keys(mesh).length > 0) return; // prettier-ignore
  throw new ArgumentError('this is not a mesh', {
    op,
    expected: 'the extent of each axis by its name, such as { data: 8, model: 4 }',
    actual:
      wrong !== undefined ? `${wrong[0]}: ${describe(wrong[1])}` : numeric !== undefined ? `an axis named '${numeric}'` : describe(mesh), // prettier-ignore
  });
}

/**
 * Checks rules against the state of a job: each has to be the first that matches some name, and its partition has to
 * divide all state that it decides about. The state of an optimizer follows its parameter.
 */
export function checkRules(
  rules: unknown,
  mesh: JobMesh | undefined,
  state: readonly StableHloInput<number>[],
): asserts rules is readonly JobRule[] {
  if (!Array.isArray(rules)) throw notRule('rules', rules);
  const names = new Set(state.map(({ name }) => name));
  const owners = state.filter(({ name }) => !names.has(ownerOf(name)));
  const left = new Set(owners);
  (rules as readonly unknown[]).forEach((rule, at) => {
    const [pattern, partition] = readRule(rule, at, mesh);
    const matched = [...left].filter(({ name }) => pattern.test(name));
    if (matched.length === 0) {
      const hidden = owners.find(({ name }) => pattern.test(name));
      throw new ArgumentError(`rule ${at}, ${pattern.source}, matches nothing`, {
        op,
        expected: 'a regular expression that finds the name of a parameter or other state',
        actual:
          hidden === undefined
            ? few(owners.map(({ name }) => name))
            : `all that it matches an earlier rule has matched, such as ${hidden.name}`,
        advice: hidden === undefined ? 'correct or remove the rule' : 'put the rule first',
      });
    }
    for (const input of matched) {
      checkDivides(at, input, partition, mesh);
      left.delete(input);
    }
  });
}

/** Name before the last `/`: state of an optimizer is named after its parameter, whose partition it has. */
const ownerOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('/')));

function readRule(
  rule: unknown,
  at: number,
  mesh: JobMesh | undefined,
): readonly [RegExp, JobPartition] {
  if (!Array.isArray(rule) || rule.length !== 2) throw notRule(`rule ${at}`, rule);
  const [pattern, partition] = rule as readonly unknown[];
  if (typeof pattern !== 'string') throw notRule(`rule ${at}`, pattern);
  const axes = partition === 'replicated' ? [] : partition === 'fsdp' ? [dataAxis] : partition;
  // Without a mesh all devices lie along the axis of the data.
  checkAxes(at, axes, mesh ?? { [dataAxis]: 1 });
  try {
    return [new RegExp(pattern, 'u'), partition as JobPartition];
  } catch (cause) {
    throw new ArgumentError(`the regular expression of rule ${at} cannot be read`, {
      op,
      expected: 'a regular expression',
      actual: String((cause as Error).message),
      cause,
    });
  }
}

function notRule(name: string, value: unknown): ArgumentError {
  return new ArgumentError(`${name} is not acceptable`, {
    op,
    expected: `a list of [regular expression, partition]; partitions are lists of mesh axes and null, 'fsdp' or 'replicated'`,
    actual: describe(value),
  });
}

function checkAxes(at: number, partition: unknown, mesh: JobMesh): void {
  const isList = Array.isArray(partition);
  const axes = isList ? (partition as readonly unknown[]) : [];
  if (!isList || !axes.every((axis) => axis === null || typeof axis === 'string')) {
    throw notRule(`the partition of rule ${at}`, partition);
  }
  const named = axes.filter((axis) => axis !== null);
  const unknown = named.find((axis) => !Object.hasOwn(mesh, axis as string));
  if (unknown !== undefined) {
    throw new ArgumentError(`the mesh has no axis ${String(unknown)}, which rule ${at} names`, {
      op,
      expected: Object.keys(mesh).join(', '),
      actual: describe(partition),
    });
  }
  if (new Set(named).size === named.length) return;
  throw new ArgumentError(`rule ${at} divides two axes along one axis of the mesh`, {
    op,
    expected: 'each axis of the mesh at most once',
    actual: describe(partition),
  });
}

function checkDivides(
  at: number,
  { name, shape }: StableHloInput<number>,
  partition: JobPartition,
  mesh: JobMesh | undefined,
): void {
  if (typeof partition === 'string') return;
  if (partition.length > shape.length) {
    throw new ShapeError(`rule ${at} has more axes than ${name}`, {
      op,
      expected: `at most ${shape.length}`,
      actual: describe(partition),
    });
  }
  partition.forEach((axis, k) => {
    if (axis === null || shape[k] % (mesh?.[axis] ?? 1) === 0) return;
    throw new ShapeError(`rule ${at} does not divide ${name}`, {
      op,
      expected: `an extent that is a multiple of ${mesh?.[axis]}, the extent of ${axis}`,
      actual: `${shape[k]}, axis ${k} of [${shape.join(', ')}]`,
    });
  });
}

const few = (names: readonly string[]): string =>
  names.length <= 8 ? names.join(', ') : `${names.slice(0, 8).join(', ')} and ${names.length - 8} more`; // prettier-ignore
