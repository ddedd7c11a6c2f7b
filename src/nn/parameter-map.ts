import { describe } from '../base/attributes/attribute.js';
import type { DType } from '../base/dtype.js';
import { ArgumentError, FormatError } from '../base/errors.js';
import {
  callable,
  checkOptions,
  flag,
  type OptionRules,
  valueRule,
  unknownName,
} from '../base/attributes/options.js';
import type { NDArray } from '../front/core/ndarray.js';
import { typeToString } from '../ir/program.js';
import type { Parameter } from './parameter.js';

/** Target of an array in a file: the path of a parameter, and conversions to apply first. */
export interface MappedArray {
  /** The path of the parameter. */
  readonly name: string;
  /** Permutation of the axes: `true` for reversed, or as `transpose` takes it. Default: none. */
  readonly transpose?: boolean | readonly number[];
  /** Convert to the dtype of the parameter. Default: the `cast` of the whole load. */
  readonly cast?: boolean;
}

/** From names in a file to paths of parameters: null drops an array, a name without an entry stays the same. */
export type ParameterMap =
  | Readonly<Record<string, string | MappedArray | null>>
  | ((name: string, array: NDArray) => string | MappedArray | null | undefined);

export interface LoadParametersOptions {
  /** Translation of the file's names and layouts to those of the network. */
  readonly map?: ParameterMap;
  /**
   * Require that the file has every parameter with its type, and no other arrays. If false, the arrays that
   * fit are loaded, and the report lists the rest. Default true.
   */
  readonly strict?: boolean;
  /** Convert arrays of another dtype to that of their parameter. Default false. */
  readonly cast?: boolean;
}

/** Report of a load. All names are paths of parameters, except in `unexpected`. */
export interface LoadReport {
  readonly loaded: readonly string[];
  /** Parameters that the file does not have, in the order of the network. */
  readonly missing: readonly string[];
  /** Arrays of the file that are not parameters, by their names in the file. */
  readonly unexpected: readonly string[];
  /** Parameters whose array has another shape or dtype. */
  readonly mismatched: readonly {
    readonly name: string;
    readonly expected: string;
    readonly actual: string;
  }[];
}

const rules: OptionRules<LoadParametersOptions> = {
  map: valueRule(
    'a function, or an object from names of the file to paths of parameters',
    (value): value is ParameterMap =>
      callable.accepts(value) || (typeof value === 'object' && value !== null),
  ),
  strict: flag,
  cast: flag,
};

const mappedRules: OptionRules<MappedArray> = {
  name: valueRule('a path', (value): value is string => typeof value === 'string'),
  transpose: valueRule(
    'true, false, or the order of the axes',
    (value): value is boolean | readonly number[] =>
      typeof value === 'boolean' || (Array.isArray(value) && value.every(Number.isInteger)),
  ),
  cast: flag,
};

/**
 * Assigns the arrays of a file to parameters. All are checked before the first one changes.
 *
 * @param op Public function, for messages.
 * @throws FormatError, with `strict`, for a file that lacks a parameter, has one of another type, or has
 * more; ArgumentError for other options, a map to an unknown parameter, and two arrays for one parameter.
 */
export function assignMapped(
  op: string,
  parameters: ReadonlyMap<string, Parameter>,
  arrays: ReadonlyMap<string, NDArray>,
  options: LoadParametersOptions = {},
): LoadReport {
  checkOptions<LoadParametersOptions>(op, options, rules);
  const { strict = true, cast = false } = options;
  const given = new Map<string, { readonly from: string; readonly array: NDArray }>();
  const unexpected: string[] = [];
  for (const [from, array] of arrays) {
    const target = targetOf(op, options.map, from, array);
    if (target === null) continue;
    const { name } = target;
    const parameter = parameters.get(name);
    if (parameter === undefined) {
      if (target.isMapped) throw unknownName(op, 'parameter', name, [...parameters.keys()]);
      unexpected.push(from);
      continue;
    }
    const other = given.get(name);
    if (other !== undefined) {
      throw new ArgumentError(`two arrays of the file are mapped to parameter ${name}`, {
        op,
        actual: `${other.from} and ${from}`,
      });
    }
    given.set(name, { from, array: adapted(array, target, parameter, cast) });
  }
  const missing = [...parameters.keys()].filter((name) => !given.has(name));
  const mismatched = [...given].flatMap(([name, { array }]) => {
    const parameter = parameters.get(name)!;
    const fits =
      array.dtype === parameter.dtype &&
      array.shape.length === parameter.shape.length &&
      (array.shape as readonly number[]).every((extent, axis) => (parameter.shape[axis] ?? extent) === extent); // prettier-ignore
    const expected = `${parameter.dtype}${parameter.shapeText}`;
    return fits ? [] : [{ name, expected, actual: typeToString(array) }];
  });
  if (strict) refuse(op, parameters, arrays, { missing, unexpected, mismatched });
  const wrong = new Set(mismatched.map(({ name }) => name));
  const loaded = [...parameters.keys()].filter((name) => given.has(name) && !wrong.has(name));
  for (const name of loaded) parameters.get(name)!.assign(given.get(name)!.array);
  return { loaded, missing, unexpected, mismatched };
}

interface Target extends MappedArray {
  /** True when the user's map names it. */
  readonly isMapped: boolean;
}

function targetOf(
  op: string,
  map: ParameterMap | undefined,
  name: string,
  array: NDArray,
): Target | null {
  const found =
    typeof map === 'function'
      ? map(name, array)
      : map !== undefined && Object.hasOwn(map, name)
        ? map[name]
        : undefined;
  if (found === undefined) return { name, isMapped: false };
  if (found === null) return null;
  if (typeof found === 'string') return { name: found, isMapped: true };
  if (typeof found !== 'object') {
    throw new ArgumentError(`the map of ${name} is not acceptable`, {
      op,
      expected: 'a path, { name, transpose, cast }, null or undefined',
      actual: describe(found),
    });
  }
  checkOptions<MappedArray>(op, found, mappedRules);
  return { ...found, isMapped: true };
}

function adapted(array: NDArray, target: Target, { dtype }: Parameter, castAll: boolean): NDArray {
  const { transpose = false, cast = castAll } = target;
  const permuted =
    transpose === false ? array : array.transpose(transpose === true ? null : transpose);
  return cast && permuted.dtype !== dtype ? permuted.astype(dtype as DType) : permuted;
}

function refuse(
  op: string,
  parameters: ReadonlyMap<string, Parameter>,
  arrays: ReadonlyMap<string, NDArray>,
  { missing, unexpected, mismatched }: Omit<LoadReport, 'loaded'>,
): void {
  const few = (names: readonly string[]): string =>
    names.length <= 8 ? names.join(', ') : `${names.slice(0, 8).join(', ')} and ${names.length - 8} more`; // prettier-ignore
  if (missing.length > 0) {
    throw new FormatError(
      `the file has no parameter ${missing[0]}${missing.length > 1 ? `, nor ${missing.length - 1} others` : ''}`,
      {
        op,
        expected: few([...parameters.keys()]),
        actual: few([...arrays.keys()]),
        advice: 'give a map from the names of the file, or strict: false to load what there is',
      },
    );
  }
  for (const { name, expected, actual } of mismatched) {
    throw new FormatError(`parameter ${name} of the file is of another type`, {
      op,
      expected,
      actual,
      advice: 'give a map with transpose, or cast: true to convert to the dtype of the parameter',
    });
  }
  if (unexpected.length > 0) {
    throw new FormatError('the file has arrays that are not parameters', {
      op,
      expected: few([...parameters.keys()]),
      actual: few(unexpected),
      advice: 'map them to null, or give strict: false',
    });
  }
}
