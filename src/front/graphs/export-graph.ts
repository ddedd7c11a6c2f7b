import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, GraphError, TraceError } from '../../base/errors.js';
import { checkArgument, checkOptions } from '../../base/attributes/options.js';
import { type GraphParts, layOutGraph } from './graph.js';
import { collectOrigins, type Origin, rootCallsWith } from '../core/history.js';
import { typeToString } from '../../ir/program.js';
import { NDArray } from '../core/ndarray.js';
import { recordRule } from './records.js';
import { StaticGraph } from './static-graph.js';

export interface ExportRequest {
  /** The arrays that each run takes, by input name. */
  readonly inputs: Readonly<Record<string, NDArray>>;
  /** The arrays that each run returns. */
  readonly outputs: Readonly<Record<string, NDArray>>;
}

/**
 * The deferred computation between `inputs` and `outputs` as a graph that can be run on other arrays, printed
 * and saved. The arrays may have been computed meanwhile.
 *
 * @throws GraphError for an output that depends on an array not among the inputs, an input that no output
 * needs or no captured call used, and an output with no recorded history.
 */
export function exportGraph(request: ExportRequest): StaticGraph {
  const op = 'exportGraph';
  checkOptions<ExportRequest>(op, request, { inputs: arraysByName, outputs: arraysByName });
  const { inputs, outputs } = request;
  checkArgument(op, 'inputs', inputs, arraysByName);
  checkArgument(op, 'outputs', outputs, arraysByName);
  const named = (arrays: Readonly<Record<string, NDArray>>): { name: string; array: NDArray }[] =>
    Object.entries(arrays).map(([name, array]) => {
      if (array instanceof NDArray) return { name, array };
      throw new ArgumentError(`${name} is not an array`, {
        op,
        expected: 'records of arrays by name',
        actual: describe(array),
      });
    });
  const given = named(inputs);
  const wanted = named(outputs);
  if (wanted.length === 0)
    throw new GraphError('a graph needs at least one output', {
      op,
      expected: 'an array among the outputs',
      actual: 'none',
    });
  const isGiven = new Map(given.map(({ name, array }) => [array, name]));
  if (isGiven.size < given.length) {
    const second = given.find(({ name, array }) => isGiven.get(array) !== name)!;
    throw new GraphError(`one array is given as two inputs`, {
      op,
      expected: 'another array for each input',
      actual: `${second.name} and ${isGiven.get(second.array)}`,
    });
  }
  for (const { name, array } of wanted) {
    const isKnown =
      isGiven.has(array) ||
      array.isConstant ||
      (array.origin !== null && array.origin.capture !== null);
    if (isKnown) continue;
    throw new GraphError(`output ${name} has no recorded history`, {
      op,
      expected: 'an array computed inside deferredCompute, or one of the inputs',
      actual: typeToString(array.type),
      advice: 'compute it inside kn.deferredCompute(() => ...)',
    });
  }
  const parts = layOutGraph({
    inputs: given,
    outputs: wanted,
    writes: [],
    kept: checksAmong(given, wanted),
    follow: isCaptured,
    outside: (array, reader) => {
      throw foreignArray(array, reader, wanted);
    },
  });
  refuseUnused(parts, given);
  return new StaticGraph(parts);
}

/** Checks that the code between inputs and outputs makes: those that read nothing but inputs and constants. */
function checksAmong(
  inputs: readonly { readonly array: NDArray }[],
  outputs: readonly { readonly array: NDArray }[],
): readonly Origin[] {
  const given = new Set(inputs.map(({ array }) => array));
  const isInside = (array: NDArray, origin: Origin): boolean =>
    !given.has(array) && isCaptured(origin);
  const heads = outputs.map(({ array }) => array);
  return rootCallsWith(collectOrigins(heads, isInside)).filter(({ operands }) =>
    collectOrigins(operands, isInside)
      .flatMap((origin) => origin.operands)
      .concat(operands)
      .every((array) => {
        const { origin } = array;
        return given.has(array) || array.isConstant || (origin !== null && isCaptured(origin));
      }),
  );
}

const arraysByName = recordRule<NDArray>('an object of arrays by name');

function isCaptured({ capture, declaration }: Origin): boolean {
  if (capture?.kind === 'trace') {
    throw new TraceError('an array of a hybridized function was exported', {
      op: 'exportGraph',
      expected: 'arrays made inside deferredCompute',
      actual: `the result of ${declaration.name}`,
      advice: 'use graphFor of the hybridized function',
    });
  }
  return capture !== null;
}

function foreignArray(
  array: NDArray,
  reader: Origin | null,
  outputs: readonly { readonly name: string }[],
): GraphError {
  const names = outputs.map(({ name }) => name).join(', ');
  return new GraphError('an output depends on an array that is not among the inputs', {
    op: 'exportGraph',
    expected: `the outputs (${names}) to depend on nothing but the inputs and constants made inside`,
    actual: `${typeToString(array.type)}, read by ${reader?.declaration.name ?? 'an output'}`,
    advice: 'name it as an input, or make it inside deferredCompute',
    source: reader?.source,
  });
}

function refuseUnused(
  { program }: GraphParts,
  inputs: readonly { readonly name: string; readonly array: NDArray }[],
): void {
  const outputs = new Set(program.outputs.map(({ value }) => value));
  inputs.forEach(({ name, array }, i) => {
    const value = program.inputs[i];
    if (outputs.has(value) || !program.graph.outEdges(value.node).next().done) return;
    if (array.reader === null) {
      throw new GraphError(`input ${name} was used by no recorded operator`, {
        op: 'exportGraph',
        expected: 'arrays that calls inside deferredCompute read',
        actual: typeToString(array.type),
        advice: 'pass the very array that was used, not a copy of it',
      });
    }
    throw new GraphError(`input ${name} is connected to no output`, {
      op: 'exportGraph',
      expected: 'inputs that the outputs depend on',
      actual: typeToString(array.type),
      advice: 'leave it out, or add the output that needs it',
    });
  });
}
