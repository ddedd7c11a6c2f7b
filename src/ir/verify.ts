import { allocate } from '../base/dtype.js';
import { type Bounds, type Dim, symbol, symbolsOf } from '../base/dim/index.js';
import { GraphError, KaonError, named } from '../base/errors.js';
import { checkAttributes, symbolsOfAttributes } from '../base/attributes/schema.js';
import type { NodeId } from '../graph/graph.js';
import { bindShapes, symbolsOfShape, symbolsOfTypes } from './bind.js';
import {
  type CallNode,
  type Program,
  type ProgramNode,
  typeToString,
  type Value,
} from './program.js';
import {
  dimsOf,
  type Require,
  type Requirement,
  requireNow,
  requireOrKeep,
} from './requirement.js';
import { sameType, type ConstantData, type TensorType } from './types.js';

/**
 * Checks a program and all regions below it:
 *
 * 1. every operand is a result of an earlier node of the same program;
 * 2. every node has one value for each of its results, of the type the node states;
 * 3. the inputs are the variables, in their order, under distinct names;
 * 4. extents that are numbers are sizes; a constant has as many elements as its type says;
 * 5. the attributes of a call are what its operator's schema describes;
 * 6. the types of a call are those its operator infers, but for the names of dimensions it introduces;
 * 7. a symbol has one range throughout a program;
 * 8. a dimension that an attribute speaks of is known from an earlier value: programs are closed;
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
    verifyAll(program, seen, () => requireNow);
  } catch (error) {
    throw named(error, 'verify');
  }
}

/** Verifies a program that comes from outside, and adds the requirements of its calls: kernels rely on them. */
export function verifyAndRequire(program: Program): void {
  verifyAll(program, new Set(), (inner, { source }, isOwn) =>
    requireOrKeep((requirement) => {
      if (dimsOf(requirement).every(isOwn))
        inner.require({ ...requirement, source: requirement.source ?? source });
    }),
  );
}

/** The programs that have been checked. */
interface Seen {
  has(program: Program): boolean;
  add(program: Program): unknown;
}

/** Receiver of the requirements of a call; `isOwn` tells the program's dimensions from placeholders. */
type RequireFor = (program: Program, call: CallNode, isOwn: (dim: Dim) => boolean) => Require;

function verifyAll(program: Program, seen: Seen, requireFor: RequireFor): void {
  if (seen.has(program)) return;
  const ranges = new Map<string, Bounds>();
  const variables: Value[] = [];
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    checkOperands(program, id);
    const types = checkResults(program, id);
    if (node.kind === 'variable') variables.push(program.results(id)[0]);
    else if (node.kind === 'constant') checkConstant(id, node.data);
    else if (node.kind === 'check') checkRequirement(node.requirement, ranges);
    else {
      for (const region of node.regions) verifyAll(region, seen, requireFor);
      checkCall(program, id, node, ranges, requireFor);
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
  for (const [name, bounds] of symbolsOfShape(type.shape)) {
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
  ranges: ReadonlyMap<string, Bounds>,
  requireFor: RequireFor,
): void {
  const { op, attributes, regions, source } = node;
  try {
    checkAttributes(op.name, op.attributes, attributes);
    for (const name of symbolsOfAttributes(op.attributes, attributes).keys()) {
      if (!ranges.has(name)) throw new GraphError(`dimension ${name} is not defined`);
    }
    const placeholders = new Set<string>();
    const inferred = op.infer({
      inputs: program.operands(id).map(({ type }) => type),
      attributes,
      regions,
      fresh: (hint, bounds) => {
        let name = `${hint}__${placeholders.size}`;
        while (ranges.has(name)) name += '_';
        placeholders.add(name);
        return symbol(name, bounds);
      },
      require: requireFor(program, node, (dim) =>
        [...symbolsOf(dim)].every((name) => !placeholders.has(name)),
      ),
    });
    if (!fits(inferred, node.types, placeholders)) {
      throw new GraphError('the result types differ from those that the operator infers', {
        expected: inferred.map(typeToString).join(', '),
        actual: node.types.map(typeToString).join(', '),
      });
    }
  } catch (error) {
    const problem = error instanceof KaonError ? error.problem : String(error);
    throw new GraphError(`node ${id} is not a proper call: ${problem}`, {
      op: op.name,
      ...(source !== undefined && { source }),
      ...(error instanceof KaonError &&
        error.expected !== undefined && { expected: error.expected }),
      ...(error instanceof KaonError && error.actual !== undefined && { actual: error.actual }),
      cause: error,
    });
  }
}

/** True when types agree after the placeholders are bound to the recorded dimensions. */
function fits(
  inferred: readonly TensorType[],
  recorded: readonly TensorType[],
  placeholders: ReadonlySet<string>,
): boolean {
  if (inferred.length !== recorded.length) return false;
  if (inferred.some(({ dtype }, k) => dtype !== recorded[k].dtype)) return false;
  if (inferred.every((type, k) => sameType(type, recorded[k]))) return true;
  const known = new Map<string, Dim>();
  for (const [name, bounds] of symbolsOfTypes(inferred)) {
    if (!placeholders.has(name)) known.set(name, symbol(name, bounds));
  }
  const matches = inferred.map(({ shape }, k) => ({
    name: `result ${k}`,
    declared: shape,
    actual: recorded[k].shape,
  }));
  try {
    bindShapes<Dim>(matches, undefined, known);
    return true;
  } catch {
    return false; // whatever differs is shown with both types in full
  }
}

function fail(problem: string, details: { expected?: string; actual?: string } = {}): never {
  throw new GraphError(problem, details);
}
