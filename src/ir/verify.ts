import { allocate } from '../base/dtype.js';
import {
  type Bounds,
  boundsOf,
  type Dim,
  isStatic,
  symbolsOf,
  symbolTable,
} from '../base/dim/index.js';
import { GraphError, InternalError, KaonError, named } from '../base/errors.js';
import { currentDebugging } from '../base/flags.js';
import { checkAttributes, symbolsOfAttributes } from '../base/attributes/schema.js';
import type { NodeId } from '../graph/graph.js';
import { symbolsOfShape, symbolsOfTypes, undeterminedSymbols } from './bind.js';
import {
  type CallNode,
  type DecidedSize,
  type Program,
  type ProgramNode,
  typeToString,
  type Value,
} from './program.js';
import type { SizeBounds } from './operator.js';
import {
  dimsOf,
  type Require,
  type Requirement,
  requireNow,
  requireOrKeep,
} from './requirement.js';
import { sameParts, sameValue } from './same-program.js';
import { nameOfSize } from './size-sources.js';
import { sameType, type ConstantData, type TensorType } from './types.js';

/**
 * Checks a program and all regions below it:
 *
 * 1. every operand is a result of an earlier node of the same program;
 * 2. every node has one value for each of its results, of the type the node states;
 * 3. the inputs are the variables, in their order, under distinct names;
 * 4. extents that are numbers are sizes; a constant has as many elements as its type says;
 * 5. the attributes of a call are what its operator's schema describes;
 * 6. a call decides as many sizes as its operator asks for, within the bounds it states, and has the types that
 *    the operator infers with these sizes;
 * 7. a symbol has one range throughout a program;
 * 8. a dimension that a type or an attribute of a call speaks of is a size parameter, comes from an earlier input or
 *    is decided by the call or an earlier one: programs are closed; a call passes each region as many sizes as it
 *    takes, within their bounds;
 *    size parameters and the extents of inputs tell all dimensions of the inputs, whatever they are; calls of one
 *    operator that decide one size select alike;
 * 9. outputs are values of the program under distinct names;
 * 10. a requirement speaks of dimensions of the program.
 *
 * Programs in `seen` have been checked; those that are checked now are added.
 *
 * @throws GraphError for the first that does not hold, naming node, operator and source line; what an
 * operator's own inference refused is its cause.
 */
export function verify(program: Program, seen: Seen = new Set()): void {
  try {
    verifyAll(program, seen, () => requireNow, checkInputs);
  } catch (error) {
    throw named(error, 'verify');
  }
}

/** Verified programs, regions included; only when verification is enabled. */
const sound: WeakSet<Program> = new WeakSet();

/** A program, verified if `KAON_DEBUG` asks for it. */
export function verified(maker: string, program: Program): Program {
  verifyMade(maker, () => verify(program, sound));
  return program;
}

/** Checks what `maker` has made, if `KAON_DEBUG` asks for it: a fault in it is a bug. */
export function verifyMade(maker: string, check: () => void): void {
  if (!currentDebugging().flags.verify) return;
  try {
    check();
  } catch (cause) {
    throw new InternalError(`a pass has made an unsound program: ${maker}`, {
      op: 'verify',
      cause,
    });
  }
}

/** Verifies a program that comes from outside, and adds the requirements of its calls: kernels rely on them. */
export function verifyAndRequire(program: Program): void {
  verifyAll(program, new Set(), (inner, { source }) =>
    requireOrKeep((requirement) => {
      inner.require({ ...requirement, source: requirement.source ?? source });
    }),
  );
}

/** The programs that have been checked. */
interface Seen {
  has(program: Program): boolean;
  add(program: Program): unknown;
}

/** Receiver of the requirements of a call. */
type RequireFor = (program: Program, call: CallNode) => Require;

function verifyAll(
  program: Program,
  seen: Seen,
  requireFor: RequireFor,
  checkInputsOf: (program: Program) => void = () => {},
): void {
  if (seen.has(program)) return;
  const ranges = new Map<string, Bounds>();
  const variables: Value[] = [];
  const deciders: Deciders = new Map();
  for (const size of program.sizes) symbolTable(size, ranges);
  checkInputsOf(program);
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    checkOperands(program, id);
    const types = checkResults(program, id);
    if (node.kind === 'variable') variables.push(program.results(id)[0]);
    else if (node.kind === 'constant') checkConstant(id, node.data);
    else if (node.kind === 'check') checkRequirement(node.requirement, ranges);
    else {
      for (const region of node.regions) verifyAll(region, seen, requireFor, checkInputsOf);
      checkCall(program, id, node, ranges, requireFor);
      checkShared(program, id, node, deciders);
    }
    for (const type of types) checkDims(id, type, ranges);
  }
  const names = variables.map(({ node }) => {
    const variable = program.node(node);
    return variable.kind === 'variable' ? variable.name : '';
  });
  if (variables.some((value, k) => value !== program.inputs[k]))
    fail('inputs are not the variables');
  if (new Set(names).size !== names.length) fail('two inputs have one name');
  const outputs = new Set<string>();
  for (const { name, value } of program.outputs) {
    if (program.results(value.node)?.[value.port] !== value)
      fail(`output ${name} is a foreign value`);
    if (outputs.has(name)) fail(`two outputs are named ${name}`);
    outputs.add(name);
  }
  seen.add(program);
}

/** For operators and sizes, the first call that decides the size, and its place among those that this decides. */
type Deciders = Map<string, readonly [id: NodeId, place: number]>;

function checkInputs({ inputs, sizes }: Program): void {
  const types = inputs.map(({ type }) => type);
  if (types.every(({ shape }) => shape.every(isStatic))) return;
  const [open] = undeterminedSymbols([{ dtype: 'bool', shape: sizes }, ...types], new Map());
  if (open !== undefined) fail(`no extent of an input tells dimension ${open.key}`);
}

/**
 * Checks that calls of one operator that decide one size select alike. Loops may find a size again, as those of a
 * backward pass do: it is compared when they have run.
 */
function checkShared(program: Program, id: NodeId, node: CallNode, deciders: Deciders): void {
  const { sizedBy } = node.op;
  if (sizedBy === undefined) return;
  node.decides.forEach(({ size }, place) => {
    const name = nameOfSize(size);
    if (name === null || !program.decidedSizes.has(name)) return;
    const key = `${name} ${node.op.name}`;
    const first = deciders.get(key);
    if (first === undefined) {
      deciders.set(key, [id, place]);
      return;
    }
    const [other, otherPlace] = first;
    const [operands, others] = [program.operands(id), program.operands(other)];
    const isAlike =
      place === otherPlace &&
      sameParts(node, program.node(other) as CallNode) &&
      sizedBy.every((k) => sameValue(program, operands[k], others[k]));
    if (!isAlike) fail(`nodes ${other} and ${id} decide dimension ${name}, and not alike`);
  });
}

function checkRequirement(requirement: Requirement, ranges: ReadonlyMap<string, Bounds>): void {
  for (const dim of dimsOf(requirement)) {
    for (const name of symbolsOf(dim)) {
      if (!ranges.has(name)) {
        fail(`a requirement of ${requirement.op} speaks of dimension ${name}, which is not there`);
      }
    }
  }
}

function checkOperands(program: Program, id: NodeId): void {
  const { graph } = program;
  for (const edge of graph.inEdges(id)) {
    const source = graph.source(edge);
    if (source >= id) fail(`node ${id} reads node ${source}, which does not precede it`);
    const weight = graph.edge(edge);
    if (weight.kind === 'size') {
      if (program.decidedSizes.get(weight.name)?.node !== source)
        fail(
          `node ${id} reads dimension ${weight.name} of node ${source}, which does not decide it`,
        );
    } else if (program.results(source)[weight.port] === undefined) {
      fail(`node ${id} reads result ${weight.port} of node ${source}, which has fewer`);
    }
  }
}

function checkResults(program: Program, id: NodeId): readonly TensorType[] {
  const node = program.node(id);
  const types = typesOf(node);
  const values = program.results(id);
  const fits =
    values.length === types.length &&
    values.every(
      (value, port) =>
        value.program === program &&
        value.node === id &&
        value.port === port &&
        sameType(value.type, types[port]),
    );
  if (!fits) fail(`the values of node ${id} are not the results it states`);
  return types;
}

/** Types of the results that a node states. */
function typesOf(node: ProgramNode): readonly TensorType[] {
  switch (node.kind) {
    case 'variable':
      return [node.type];
    case 'constant':
      return [node.data.type];
    case 'call':
      return node.types;
    case 'check':
      return [];
  }
}

function checkConstant(id: NodeId, { type, data }: ConstantData): void {
  const size = type.shape.reduce((product, extent) => product * extent, 1);
  if (data.constructor !== allocate(type.dtype, 0).constructor || data.length !== size) {
    fail(`constant ${id} does not hold the elements of its type`, {
      expected: `${typeToString(type)}: ${size} elements`,
      actual: `${data.constructor.name} of ${data.length}`,
    });
  }
}

function checkDims(id: NodeId, type: TensorType, ranges: Map<string, Bounds>): void {
  for (const dim of type.shape) {
    if (typeof dim === 'number' && !(Number.isSafeInteger(dim) && dim >= 0)) {
      fail(`node ${id} has an extent that is no size`, { actual: typeToString(type) });
    }
  }
  checkRanges(id, symbolsOfShape(type.shape), ranges);
}

function checkRanges(
  id: NodeId,
  found: ReadonlyMap<string, Bounds>,
  ranges: Map<string, Bounds>,
): void {
  for (const [name, bounds] of found) {
    const known = ranges.get(name);
    if (known !== undefined && (known.min !== bounds.min || known.max !== bounds.max)) {
      fail(`dimension ${name} has two ranges`, {
        expected: `${known.min} to ${known.max}`,
        actual: `${bounds.min} to ${bounds.max} at node ${id}`,
      });
    }
    ranges.set(name, bounds);
  }
}

function checkCall(
  program: Program,
  id: NodeId,
  node: CallNode,
  ranges: Map<string, Bounds>,
  requireFor: RequireFor,
): void {
  const { op, attributes, regions, types, decides } = node;
  properCall(id, node, () => {
    checkAttributes(op.name, op.attributes, attributes);
    checkDefined(symbolsOfAttributes(op.attributes, attributes).keys(), ranges);
    for (const { size } of decides) {
      if (nameOfSize(size) === null) checkDefined(symbolsOf(size), ranges);
      else checkRanges(id, symbolTable(size), ranges);
    }
    let asked = 0;
    const inferred = op.infer({
      inputs: program.operands(id).map(({ type }) => type),
      attributes,
      regions,
      fresh: (_, bounds) => checkDecided(decides[asked++], bounds),
      require: requireFor(program, node),
    });
    if (asked !== decides.length) {
      throw new GraphError('the call states sizes that its operator does not decide', {
        expected: `${asked} sizes`,
        actual: String(decides.length),
      });
    }
    const fits =
      inferred.length === types.length && inferred.every((type, k) => sameType(type, types[k]));
    if (!fits) throw differentTypes(inferred, types);
    checkDefined(symbolsOfTypes(types).keys(), ranges);
  });
}

/** The error for types that no decided sizes make those that the operator infers. */
export function differentTypes(
  inferred: readonly TensorType[],
  types: readonly TensorType[],
  cause?: unknown,
): GraphError {
  return new GraphError('the result types differ from those that the operator infers', {
    expected: inferred.map(typeToString).join(', '),
    actual: types.map(typeToString).join(', '),
    cause,
  });
}

/** Runs what a call's operator says of it; what it throws becomes the cause of an error that names the call. */
export function properCall<R>(
  id: number,
  { op, source }: Pick<CallNode, 'op' | 'source'>,
  run: () => R,
): R {
  try {
    return run();
  } catch (error) {
    const known = error instanceof KaonError ? error : null;
    throw new GraphError(`node ${id} is not a proper call: ${known?.problem ?? String(error)}`, {
      op: op.name,
      source,
      expected: known?.expected,
      actual: known?.actual,
      cause: error,
    });
  }
}

function checkDefined(names: Iterable<string>, ranges: ReadonlyMap<string, Bounds>): void {
  for (const name of names)
    if (!ranges.has(name)) throw new GraphError(`dimension ${name} is not defined`);
}

/** Checks a decided size against the bounds that inference states for it. */
function checkDecided(
  decided: DecidedSize | undefined,
  { min = 0, max = Infinity, most }: SizeBounds = {},
): Dim {
  if (decided === undefined)
    throw new GraphError('the call does not state a size that its operator decides');
  const { size } = decided;
  const actual = boundsOf(size);
  if (actual.min < min || actual.max > max) {
    throw new GraphError(`the decided size ${String(size)} is outside its bounds`, {
      expected: `${min} to ${max}`,
      actual: `${actual.min} to ${actual.max}`,
    });
  }
  if (String(decided.most) !== String(most ?? null)) {
    throw new GraphError(`the decided size ${String(size)} has another upper bound`, {
      expected: String(most ?? null),
      actual: String(decided.most),
    });
  }
  return size;
}

function fail(problem: string, details: { expected?: string; actual?: string } = {}): never {
  throw new GraphError(problem, details);
}
