import type { Json } from '../../base/attributes/attribute.js';
import { FormatError, named, UnsupportedError } from '../../base/errors.js';
import { JsonReader } from '../../base/attributes/reader.js';
import { programFromJSON, programToJSON } from '../../ir/formats/json.js';
import { type ConstantNode, Program, typeToString } from '../../ir/program.js';
import { sameType, type TensorType } from '../../ir/types.js';
import { registry } from '../../ops/registry.js';
import { withOutputs } from '../../passes/rewrite/outputs.js';
import { arrayType } from '../core/array-type.js';
import { hostNumberType, numberArray } from '../core/host-number.js';
import { stateType } from '../dispatch/generator.js';
import type { GraphParts, ExternalRef } from './graph.js';
import { arrayOf, type NDArray } from '../core/ndarray.js';
import { onDefaultDevice } from '../devices/placing.js';

const format = 'kaon-graph';
const version = 1;

/**
 * A graph with the values of its reads, which are the constants of a second program. A number of the host is
 * saved with its current value; gradients that the graph writes are dropped.
 */
export function graphToJSON(parts: GraphParts): Json {
  const { program, reads, writes } = withoutGradients(parts);
  const values = new Program();
  const numbers = new Map<NDArray, number>();
  const numberOf = (array: NDArray): number => {
    let number = numbers.get(array);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(array, number);
      const type = { dtype: array.dtype, shape: array.shape };
      const value = values.constant({ type, data: array.storage.host });
      values.setOutputs([...values.outputs, { name: `value_${number}`, value }]);
    }
    return number;
  };
  const encode = (outside: ExternalRef): Json => {
    switch (outside.kind) {
      case 'array':
        return typeof outside.of === 'number'
          ? { argument: outside.of }
          : { array: numberOf(outside.of) };
      case 'host':
        return { array: numberOf(numberArray(outside.of)) };
      case 'random':
        return outside.draws === null ? {} : { draws: outside.draws };
      case 'gradient':
        throw new UnsupportedError('a graph that works on attached gradients cannot be saved', {
          op: 'toJSON',
          expected: 'a graph of its inputs, parameters and state alone',
          actual: 'one that reads or writes attached gradients',
          advice: 'return the gradients instead, with kn.grad or autograd.grad',
        });
    }
  };
  const [encodedReads, encodedWrites] = [reads.map(encode), writes.map(encode)];
  return {
    format,
    version,
    program: programToJSON(program),
    reads: encodedReads,
    writes: encodedWrites,
    values: programToJSON(values),
  };
}

/** The graph without its gradient writes, which refer to arrays of this process. */
export function withoutGradients({ program, reads, writes }: GraphParts): GraphParts {
  const returned = program.outputs.length - writes.length;
  const isKept = program.outputs.map((_, k) => writes[k - returned]?.kind !== 'gradient');
  if (isKept.every((kept) => kept)) return { program, reads, writes };
  return {
    program: withOutputs(
      program,
      program.outputs.filter((_, k) => isKept[k]),
    ),
    reads,
    writes: writes.filter((_, i) => isKept[returned + i]),
  };
}

const op = 'fromJSON';

/** @throws FormatError, GraphError */
export function graphFromJSON(json: unknown): GraphParts {
  try {
    return readGraph(json);
  } catch (error) {
    throw named(error, op);
  }
}

function readGraph(json: unknown): GraphParts {
  const root = new JsonReader(typeof json === 'string' ? parsed(json) : json, 'graph');
  if (root.field('format').string() !== format) {
    throw new FormatError('this is not a graph of Kaon', {
      op,
      expected: `format ${format}`,
      actual: `format ${root.field('format').string()}`,
    });
  }
  const found = root.field('version').integer();
  if (found !== version) {
    throw new FormatError('this graph is of another version', {
      op,
      expected: String(version),
      actual: String(found),
    });
  }
  const lookup = (name: string): ReturnType<typeof registry.get> => registry.get(name);
  const values = programFromJSON(root.field('values').raw(), lookup);
  const arrays = values.outputs.map(({ value }) => {
    const { data } = values.node(value.node) as ConstantNode;
    return onDefaultDevice(arrayOf(arrayType(data.type.dtype, data.type.shape), data.data));
  });
  const program = programFromJSON(root.field('program').raw(), lookup);
  const outside = (entry: JsonReader): ExternalRef => {
    const argument = entry.optional('argument');
    if (argument !== undefined) {
      const place = argument.integer();
      if (place < 0 || place >= program.inputs.length) argument.fail('the place of an input');
      return { kind: 'array', of: place };
    }
    const number = entry.optional('array');
    if (number === undefined)
      return { kind: 'random', draws: entry.optional('draws')?.integer() ?? null };
    const array = arrays[number.integer()] ?? number.fail('one of the values');
    return { kind: 'array', of: array };
  };
  const reads = root.field('reads').list().map(outside);
  const writes = root.field('writes').list().map(outside);
  const { inputs } = program;
  checkTypes('reads', reads, inputs, inputs);
  checkTypes(
    'writes',
    writes,
    program.outputs.map(({ value }) => value),
    inputs,
  );
  return { program, reads, writes };
}

/**
 * Checks that reads and writes have the types of the inputs and outputs they belong to, counted from the
 * last.
 */
function checkTypes(
  what: string,
  outsides: readonly ExternalRef[],
  values: readonly { readonly type: TensorType }[],
  inputs: readonly { readonly type: TensorType }[],
): void {
  const typeOf = (outside: ExternalRef): TensorType => {
    if (outside.kind === 'random') return stateType;
    if (outside.kind === 'host') return hostNumberType;
    return (typeof outside.of === 'number' ? inputs[outside.of] : outside.of).type;
  };
  outsides.forEach((outside, i) => {
    const value = values.at(i - outsides.length);
    const type = typeOf(outside);
    if (outsides.length <= values.length && value !== undefined && sameType(type, value.type)) {
      return;
    }
    throw new FormatError(`${what} ${i} of the graph do not fit its program`, {
      op,
      expected: value === undefined ? 'no more of them' : typeToString(value.type),
      actual: typeToString(type),
    });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FormatError('this is not JSON', {
      op,
      expected: 'the text that toJSON made',
      actual: text === '' ? 'no text' : JSON.stringify(text.slice(0, 40)),
      cause,
    });
  }
}
