/**
 * Binding of symbols to sizes: matches the types that a program declares for its inputs against the types (or
 * arrays) that arrive. Used where a region meets its operands and where a program meets its data, so both
 * accept the same things and refuse with the same messages.
 */
import {
  addDim,
  applyDim,
  boundsOf,
  type Bounds,
  type Dim,
  type DimExpr,
  floorDivDim,
  fold,
  isStatic,
  mulDim,
  sameDim,
  subDim,
  substituteDim,
  symbol,
  symbolTable,
  symbolsOf,
} from '../base/dim/index.js';
import { mapAttributeDims } from '../base/attributes/schema.js';
import type { DType } from '../base/dtype.js';
import { DTypeError, GraphError, ShapeError } from '../base/errors.js';
import { type CallNode, namedInputs, type Program } from './program.js';
import { type Shape, type TensorType } from './types.js';

/** A declared shape, with symbols, and the shape that arrives for it. */
export interface ShapeMatch<D extends Dim> {
  /** Name of the input, for errors. */
  readonly name: string;
  readonly declared: Shape;
  readonly actual: readonly D[];
}

/**
 * The symbols of the declared shapes as sizes that make every declared shape its actual one. Symbols
 * are found from any extent that is linear in one unknown symbol (`n`, `2*n + 1`, `n*m` once m is
 * known); extents of other forms are checked once their symbols are known. The two sides are separate
 * worlds: a name on the left has nothing to do with the same name on the right.
 *
 * @throws ShapeError when ranks or extents differ, a size is outside its symbol's bounds, or a symbol
 * cannot be determined.
 */
export function bindShapes<D extends Dim>(
  matches: readonly ShapeMatch<D>[],
  op?: string,
  known: ReadonlyMap<string, D> = new Map(),
): Map<string, D> {
  const bindings = new Map<string, Dim>(known);
  const equations: Equation[] = [];
  for (const { name, declared, actual } of matches) {
    if (declared.length !== actual.length) {
      throw refusal(`input ${name} has another rank`, op, declared, actual);
    }
    for (let axis = 0; axis < declared.length; axis++) {
      if (declared[axis] === actual[axis] && typeof declared[axis] === 'number') continue;
      equations.push({ name, declared, actual, axis, dim: declared[axis] });
    }
  }
  const [unsolved] = solve(equations, bindings, op);
  if (unsolved !== undefined) throw undetermined(unsolved, bindings, op);
  // Numbers stay numbers under dimension arithmetic, so D = number gives sizes again.
  return bindings as Map<string, D>;
}

/**
 * `bindShapes` for whole types: counts and dtypes are compared too.
 *
 * @throws ShapeError, DTypeError; GraphError when the number of inputs differs.
 */
export function bindTypes<D extends Dim>(
  declared: readonly { readonly name: string; readonly type: TensorType }[],
  actual: readonly { readonly dtype: DType; readonly shape: readonly D[] }[],
  op?: string,
  known?: ReadonlyMap<string, D>,
): Map<string, D> {
  if (declared.length !== actual.length) {
    throw new GraphError('the number of inputs differs', {
      ...(op === undefined ? {} : { op }),
      expected: `${declared.length} (${declared.map(({ name }) => name).join(', ')})`,
      actual: String(actual.length),
    });
  }
  const matches = declared.map(({ name, type }, i) => {
    if (type.dtype !== actual[i].dtype) {
      throw new DTypeError(`input ${name} has another dtype`, {
        ...(op === undefined ? {} : { op }),
        expected: type.dtype,
        actual: actual[i].dtype,
      });
    }
    return { name, declared: type.shape, actual: actual[i].shape };
  });
  return bindShapes(matches, op, known);
}

/** The symbols of types of results, beyond those that are known, bound to the sizes of results that stand for them. */
export function bindResults<D extends Dim>(
  declared: readonly { readonly shape: Shape }[],
  actual: readonly { readonly shape: readonly D[] }[],
  op: string | undefined,
  known: ReadonlyMap<string, D>,
): Map<string, D> {
  const matches = declared.map(({ shape }, k) => ({
    name: `result ${k}`,
    declared: shape,
    actual: actual[k].shape,
  }));
  return bindShapes<D>(matches, op, known);
}

/**
 * The symbols of a program bound to the sizes that it is passed, in the order of its size parameters, and to those of
 * its operands.
 *
 * @throws as `bindTypes`; GraphError when the number of sizes differs.
 */
export function bindProgram<D extends Dim>(
  program: Program,
  actual: readonly { readonly dtype: DType; readonly shape: readonly D[] }[],
  sizes: readonly D[] = [],
  op?: string,
): Map<string, D> {
  return bindTypes(namedInputs(program), actual, op, passedSizes(program, sizes, op));
}

function passedSizes<D extends Dim>(
  { sizes: declared }: Program,
  sizes: readonly D[],
  op: string | undefined,
): Map<string, D> {
  if (declared.length !== sizes.length) {
    throw new GraphError('the number of sizes that a program is passed differs', {
      ...(op === undefined ? {} : { op }),
      expected: `${declared.length} (${declared.map(({ key }) => key).join(', ')})`,
      actual: String(sizes.length),
    });
  }
  return new Map(
    declared.map((size, i) => {
      checkInBounds(`size ${i}`, { name: size.key, bounds: boundsOf(size) }, sizes[i], op);
      return [size.key, sizes[i]];
    }),
  );
}

/** The symbols whose sizes arrays of these types determine, whatever they are: `n * m` tells no `n` if `m` is 0. */
export function determinedSymbols(types: readonly TensorType[]): Set<string> {
  const found = new Map<string, Dim>();
  const extents = types.flatMap(({ shape }) => shape.map((dim) => ({ dim })));
  settleInOrder(extents, found, (_, { unknown, scale }) => {
    if (unknown === null || !isStatic(scale)) return unknown === null;
    found.set(unknown.name, symbol(unknown.name, unknown.bounds));
    return true;
  });
  return new Set(found.keys());
}

/** The symbols of types, and of others with their ranges, that arrays of these types do not determine. */
export function undeterminedSymbols(
  types: readonly TensorType[],
  others: ReadonlyMap<string, Bounds>,
): readonly DimExpr[] {
  const determined = determinedSymbols(types);
  return [...new Map([...symbolsOfTypes(types), ...others])]
    .filter(([name]) => !determined.has(name))
    .map(([name, bounds]) => symbol(name, bounds));
}

/** A type with its symbols replaced; the same object when nothing changes. */
export function substituteType(
  type: TensorType,
  replacements: ReadonlyMap<string, Dim>,
): TensorType {
  if (replacements.size === 0 || type.shape.every((dim) => typeof dim === 'number')) return type;
  return { dtype: type.dtype, shape: type.shape.map((dim) => substituteDim(dim, replacements)) };
}

/** A call with its symbols replaced; its regions have symbols of their own. */
export function substituteCall(node: CallNode, dims: ReadonlyMap<string, Dim>): CallNode {
  if (dims.size === 0) return node;
  const moved = (dim: Dim): Dim => substituteDim(dim, dims);
  return {
    ...node,
    types: node.types.map((type) => substituteType(type, dims)),
    attributes: mapAttributeDims(node.op.attributes, node.attributes, moved),
    decides: node.decides.map(({ size, most }) => ({
      size: moved(size),
      most: most === null ? null : moved(most),
    })),
  };
}

/** The symbols of a shape with their ranges, by name, added to `table`. */
export function symbolsOfShape(
  shape: Shape,
  table: Map<string, Bounds> = new Map(),
): Map<string, Bounds> {
  for (const dim of shape) if (typeof dim !== 'number') symbolTable(dim, table);
  return table;
}

/** The symbols of several types with their ranges, by name. */
export function symbolsOfTypes(types: readonly TensorType[]): Map<string, Bounds> {
  const table = new Map<string, Bounds>();
  for (const { shape } of types) symbolsOfShape(shape, table);
  return table;
}

/** The sizes that a program knows when it starts, with their ranges: those that it is passed or its inputs bring. */
export function givenSizes({ inputs, sizes }: Program): Map<string, Bounds> {
  return symbolsOfShape(sizes, symbolsOfTypes(inputs.map(({ type }) => type)));
}

interface Equation {
  readonly name: string;
  readonly declared: Shape;
  readonly actual: Shape;
  readonly axis: number;
  readonly dim: Dim;
}

/** `scale * unknown + offset` in actual sizes; without an unknown, just `offset`. */
export interface LinearForm {
  readonly unknown: { readonly name: string; readonly bounds: Bounds } | null;
  readonly scale: Dim;
  readonly offset: Dim;
}

/**
 * Visits extents in an order in which those before tell the sizes of all symbols but one, as many as there are; returns
 * the others. `settle` is given the form of an extent and may add to `known`; it returns false for one that it cannot
 * use yet.
 */
export function settleInOrder<E extends { readonly dim: Dim }>(
  extents: readonly E[],
  known: ReadonlyMap<string, Dim>,
  settle: (extent: E, form: LinearForm) => boolean,
): readonly E[] {
  let open = extents;
  for (;;) {
    const unsettled = open.filter((extent) => {
      const form = linearForm(extent.dim, known);
      return form === null || !settle(extent, form);
    });
    if (unsettled.length === open.length) return unsettled;
    open = unsettled;
  }
}

/** Solves as many equations as possible; returns the open ones. */
function solve(
  equations: readonly Equation[],
  bindings: Map<string, Dim>,
  op: string | undefined,
): readonly Equation[] {
  return settleInOrder(equations, bindings, (equation, form) => {
    const actual = equation.actual[equation.axis];
    const { unknown, scale, offset } = form;
    if (unknown === null && sameDim(offset, actual)) return true;
    if (unknown === null) throw mismatch(equation, bindings, op);
    const value = solved(form, actual);
    // Sizes are not divided by other sizes: another extent may tell the symbol.
    if (value === null && (scale === 0 || !isStatic(scale))) return false;
    if (value === null) throw mismatch(equation, bindings, op);
    checkInBounds(`input ${equation.name}, axis ${equation.axis}`, unknown, value, op);
    bindings.set(unknown.name, value);
    return true;
  });
}

/** Size of the unknown symbol of an extent; null where the extent does not tell it. */
function solved({ scale, offset }: LinearForm, actual: Dim): Dim | null {
  if (scale === 0) return null;
  const rest = subDim(actual, offset);
  const value = floorDivDim(rest, scale);
  return sameDim(mulDim(value, scale), rest) ? value : null;
}

/** Symbols of a shape as sizes of another one that stands for it, as far as the extents tell them. */
export function symbolsTold(declared: Shape, actual: Shape): ReadonlyMap<string, Dim> {
  const told = new Map<string, Dim>();
  if (declared.every(isStatic)) return told;
  // Extents that are a symbol first: they tell it whatever else there is.
  const extents = declared.map((dim, axis) => ({ dim, size: actual[axis] }));
  extents.sort((a, b) => isSymbol(b.dim) - isSymbol(a.dim));
  settleInOrder(extents, told, ({ size }, form) => {
    if (form.unknown === null) return true;
    const value = solved(form, size);
    if (value !== null) told.set(form.unknown.name, value);
    return value !== null;
  });
  return told;
}

function isSymbol(dim: Dim): number {
  return Number(!isStatic(dim) && symbolsOf(dim).has(String(dim)));
}

function checkInBounds(
  where: string,
  { name, bounds }: { readonly name: string; readonly bounds: Bounds },
  value: Dim,
  op: string | undefined,
): void {
  const { min, max } = boundsOf(value);
  if (Math.max(0, min) >= bounds.min && max <= bounds.max && max >= 0) return;
  throw refusal(
    `${where}: ${name} is outside its bounds`,
    op,
    `${bounds.min} <= ${name} <= ${bounds.max}`,
    `${name} = ${String(value)}`,
  );
}

/** A dimension as a linear form in its one unbound symbol; null when it has another form. */
function linearForm(dim: Dim, bindings: ReadonlyMap<string, Dim>): LinearForm | null {
  const known = (offset: Dim): LinearForm => ({ unknown: null, scale: 0, offset });
  return fold<LinearForm | null>(dim, {
    constant: known,
    symbol: (name, bounds) => {
      const value = bindings.get(name);
      return value === undefined
        ? { unknown: { name, bounds }, scale: 1, offset: 0 }
        : known(value);
    },
    add: (a, b) => {
      if (a === null || b === null) return null;
      if (a.unknown && b.unknown && a.unknown.name !== b.unknown.name) return null;
      return {
        unknown: a.unknown ?? b.unknown,
        scale: addDim(a.scale, b.scale),
        offset: addDim(a.offset, b.offset),
      };
    },
    mul: (a, b) => {
      if (a === null || b === null || (a.unknown && b.unknown)) return null;
      const [form, factor] = a.unknown ? [a, b.offset] : [b, a.offset];
      return {
        unknown: form.unknown,
        scale: mulDim(form.scale, factor),
        offset: mulDim(form.offset, factor),
      };
    },
    operation: (kind, a, b) =>
      a === null || b === null || a.unknown || b.unknown
        ? null
        : known(applyDim(kind, a.offset, b.offset)),
  });
}

function mismatch(
  { name, declared, actual, axis }: Equation,
  bindings: ReadonlyMap<string, Dim>,
  op: string | undefined,
): ShapeError {
  const names = [...symbolsOf(declared[axis])].filter((symbol) => bindings.has(symbol));
  const where = names.map((symbol) => `${symbol} = ${String(bindings.get(symbol))}`).join(', ');
  return refusal(
    `input ${name} has another size on axis ${axis}`,
    op,
    `${String(declared[axis])}${where === '' ? '' : ` (${where})`} in ${show(declared)}`,
    `${String(actual[axis])} in ${show(actual)}`,
  );
}

function undetermined(
  { name, declared, axis }: Equation,
  bindings: ReadonlyMap<string, Dim>,
  op: string | undefined,
): ShapeError {
  const names = [...symbolsOf(declared[axis])].filter((symbol) => !bindings.has(symbol));
  return refusal(
    `input ${name}, axis ${axis}: the size of ${names.join(', ')} cannot be determined`,
    op,
    `an input with an extent that is linear in ${names[0]}`,
    String(declared[axis] as DimExpr),
  );
}

function refusal(
  problem: string,
  op: string | undefined,
  expected: Shape | string,
  actual: Shape | string,
): ShapeError {
  return new ShapeError(problem, {
    ...(op === undefined ? {} : { op }),
    expected: show(expected),
    actual: show(actual),
  });
}

function show(shape: Shape | string): string {
  return typeof shape === 'string' ? shape : `[${shape.map(String).join(', ')}]`;
}
