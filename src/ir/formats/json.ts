/**
 * Programs as JSON: exact, versioned, and safe to read from strangers. Programs come in a list, regions
 * before their owners, so that a shared region stays shared; the last one is the program itself.
 */
import type { Json } from '../../base/attributes/attribute.js';
import { type Bounds, type Dim, parseDim, substituteDim, symbol } from '../../base/dim/index.js';
import { isDType } from '../../base/dtype.js';
import { FormatError, GraphError, named } from '../../base/errors.js';
import { JsonReader } from '../../base/attributes/reader.js';
import {
  type Attributes,
  decodeAttributes,
  encodeAttributes,
  mapAttributeDims,
} from '../../base/attributes/schema.js';
import { bytesToBase64, fromBytes, fromWords, wordsOf } from './constants.js';
import { findDecided } from './decided.js';
import { mostLevels, mostRepeatedNodes } from './limits.js';
import type { OperatorLookup } from './parse.js';
import type { Operator } from '../operator.js';
import { type DecidedSize, Program, type ProgramNode, type Value } from '../program.js';
import { requirementFromJSON, requirementToJSON } from '../requirement.js';
import { programRanges } from './text.js';
import type { ConstantData, TensorType } from '../types.js';
import { verifyAndRequire } from '../verify.js';

const format = 'kaon-program';
const version = 4;
/** Version 3 is the same without programs that are passed sizes. */
const readable = [2, 3, version];
/** The version whose calls do not state the sizes that they decide. */
const undeclared = 2;

/** The program and its regions as JSON; `programFromJSON` is the inverse. */
export function programToJSON(program: Program): Json {
  const numbers = new Map<Program, number>();
  const programs: Json[] = [];
  const write = (inner: Program): number => {
    let number = numbers.get(inner);
    if (number === undefined) {
      const json = writeProgram(inner, write);
      numbers.set(inner, (number = programs.length));
      programs.push(json);
    }
    return number;
  };
  write(program);
  return { format, version, programs };
}

function writeProgram(program: Program, region: (region: Program) => number): Json {
  const dims = [...programRanges(program)].flatMap(([name, { min, max }]): Json[] =>
    min === 0 && max === Infinity ? [] : [[name, min, max === Infinity ? null : max]],
  );
  const place = ({ node, port }: Value): Json => [node, port];
  const nodes = [...program.graph.nodes()].map((id) =>
    writeNode(program.node(id), program.operands(id).map(place), region),
  );
  const outputs = program.outputs.map(({ name, value }): Json => [name, value.node, value.port]);
  const sizes = program.sizes.map(({ key }) => key);
  return {
    ...(dims.length > 0 && { dims }),
    ...(sizes.length > 0 && { sizes }),
    nodes,
    outputs,
  };
}

function writeNode(
  node: ProgramNode,
  operands: readonly Json[],
  region: (region: Program) => number,
): Json {
  if (node.kind === 'variable') return { input: node.name, type: writeType(node.type) };
  if (node.kind === 'constant') {
    const words = wordsOf(node.data);
    return {
      constant: writeType(node.data.type),
      ...(words === null ? { bytes: bytesToBase64(node.data) } : { elements: words }),
    };
  }
  if (node.kind === 'check') {
    const { source } = node.requirement;
    return {
      require: requirementToJSON(node.requirement),
      ...(source !== undefined && { source }),
    };
  }
  const { op, types, decides, regions, source } = node;
  const attributes = encodeAttributes(op.attributes, node.attributes);
  return {
    call: op.name,
    ...(operands.length > 0 && { operands }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(regions.length > 0 && { regions: regions.map(region) }),
    types: types.map(writeType),
    ...(decides.length > 0 && {
      decides: decides.map(({ size, most }) => [
        writeDim(size),
        most === null ? null : writeDim(most),
      ]),
    }),
    ...(source !== undefined && { source }),
  };
}

function writeType({ dtype, shape }: TensorType): Json {
  return [dtype, shape.map(writeDim)];
}

function writeDim(dim: Dim): Json {
  return typeof dim === 'number' ? dim : String(dim);
}

/**
 * Reads what `programToJSON` wrote.
 *
 * @throws FormatError, naming the place, for JSON of another form; GraphError for an unknown operator or
 * a program that does not verify. Nothing in the JSON can do more than that.
 */
export function programFromJSON(json: unknown, lookup: OperatorLookup): Program {
  try {
    return readPrograms(json, lookup);
  } catch (error) {
    throw named(error, reader);
  }
}

const reader = 'fromJSON';

function readPrograms(json: unknown, lookup: OperatorLookup): Program {
  const root = new JsonReader(json, 'program');
  if (root.field('format').string() !== format) {
    throw new FormatError('this is not a program of Kaon', {
      op: reader,
      expected: `format ${format}`,
    });
  }
  const found = root.field('version').integer();
  if (!readable.includes(found)) {
    throw new FormatError('this program is of another version', {
      op: reader,
      expected: readable.join(', '),
      actual: String(found),
    });
  }
  const programs: Program[] = [];
  for (const part of root.field('programs').list()) {
    programs.push(readProgram(part, programs, lookup, found !== undeclared));
  }
  checkNesting(programs);
  const program = programs.at(-1);
  if (program === undefined)
    throw new FormatError('there is no program in the list', { op: reader });
  verifyAndRequire(program);
  return program;
}

/** @throws FormatError for regions that are nested too deeply, or so often that they are too many nodes. */
function checkNesting(programs: readonly Program[]): void {
  const levels = new Map<Program, number>();
  const repeated = new Map<Program, number>();
  const used = new Set<Program>();
  for (const program of programs) {
    let [deepest, extra] = [0, 0];
    for (const [, node] of program.calls()) {
      for (const region of node.regions) {
        deepest = Math.max(deepest, levels.get(region)!);
        extra += repeated.get(region)! + (used.has(region) ? region.graph.nodeCount : 0);
        used.add(region);
      }
    }
    levels.set(program, deepest + 1);
    repeated.set(program, extra);
    if (deepest >= mostLevels)
      throw tooLarge('is nested too deeply', `at most ${mostLevels} levels`);
    if (extra > mostRepeatedNodes) {
      throw tooLarge('repeats its regions too often', `at most ${mostRepeatedNodes} more nodes`);
    }
  }
}

function tooLarge(problem: string, expected: string): FormatError {
  return new FormatError(`the program ${problem}`, { op: reader, expected });
}

function readProgram(
  json: JsonReader,
  regions: readonly Program[],
  lookup: OperatorLookup,
  isDeclared: boolean,
): Program {
  const program = new Program();
  const dims = new DimReader(json.optional('dims'));
  for (const size of json.optional('sizes')?.list() ?? []) {
    const dim = dims.dim(size);
    if (typeof dim === 'number') size.fail('the name of a size');
    else size.guard(() => program.takeSize(dim));
  }
  const nodes: (readonly Value[])[] = [];
  const valueAt = (node: JsonReader, port: JsonReader): Value => {
    const value = nodes[node.integer()]?.[port.integer()];
    return value ?? node.fail('an earlier node and one of its results');
  };
  for (const node of json.field('nodes').list()) {
    const input = node.optional('input');
    const constant = node.optional('constant');
    const required = node.optional('require');
    if (input !== undefined) {
      const type = dims.type(node.field('type'));
      nodes.push([node.guard(() => program.variable(input.string(), type))]);
    } else if (constant !== undefined) {
      nodes.push([program.constant(readConstant(node, dims.type(constant)))]);
    } else if (required !== undefined) {
      const source = readSource(node);
      program.require({
        ...requirementFromJSON(required, (dim) => dims.dim(dim)),
        ...(source !== undefined && { source }),
      });
      nodes.push([]);
    } else nodes.push(readCall(node, program, dims, valueAt, regions, lookup, isDeclared));
  }
  const outputs = json
    .field('outputs')
    .list()
    .map((entry) => {
      const [name, node, port] = entry.list(3);
      return { name: name.string(), value: valueAt(node, port) };
    });
  program.setOutputs(outputs);
  return program;
}

function readSource(json: JsonReader): string | undefined {
  const source = json.optional('source')?.string();
  if (source !== undefined && /[\r\n]/.test(source)) json.field('source').fail('a single line');
  return source;
}

function readCall(
  json: JsonReader,
  program: Program,
  dims: DimReader,
  valueAt: (node: JsonReader, port: JsonReader) => Value,
  regions: readonly Program[],
  lookup: OperatorLookup,
  isDeclared: boolean,
): readonly Value[] {
  const name = json.field('call').string();
  const op = lookup(name);
  if (op === undefined)
    throw new GraphError(`there is no operator ${JSON.stringify(name)} here`, { op: reader });
  const operands = (json.optional('operands')?.list() ?? []).map((entry) => {
    const [node, port] = entry.list(2);
    return valueAt(node, port);
  });
  const owned = (json.optional('regions')?.list() ?? []).map(
    (entry) => regions[entry.integer()] ?? entry.fail('an earlier program of the list'),
  );
  const types = json
    .field('types')
    .list()
    .map((type) => dims.type(type));
  const source = readSource(json);
  const attributes = dims.attributes(op, json);
  const call = { op, attributes, regions: owned, types, source };
  const decides = isDeclared
    ? dims.decided(json.optional('decides'))
    : findDecided(program, call, operands);
  return program.appendTyped(op, operands, attributes, types, { ...call, decides });
}

function readConstant(json: JsonReader, { dtype, shape }: TensorType): ConstantData {
  const sizes = shape.map((dim) =>
    typeof dim === 'number' ? dim : json.field('constant').fail('a static shape'),
  );
  const elements = json.optional('elements');
  return json.guard(() =>
    elements === undefined
      ? fromBytes(dtype, sizes, json.field('bytes').string())
      : fromWords(
          dtype,
          sizes,
          elements.list().map((element) => element.string()),
        ),
  );
}

/** Reads whatever holds dimensions, with the ranges that a program gives its symbols. */
class DimReader {
  readonly #ranges: Map<string, Bounds> = new Map();
  readonly #symbols: Map<string, Dim> = new Map();
  /** Cache of parsed dimensions: the extents of a program repeat. */
  readonly #dims: Map<string, Dim> = new Map();

  constructor(json: JsonReader | undefined) {
    for (const entry of json?.list() ?? []) {
      const [name, min, max] = entry.list(3);
      const bounds = {
        min: min.integer(),
        max: max.isNull() ? Infinity : max.integer(),
      };
      this.#symbols.set(
        name.string(),
        entry.guard(() => symbol(name.string(), bounds)),
      );
      this.#ranges.set(name.string(), bounds);
    }
  }

  type(json: JsonReader): TensorType {
    const [dtype, shape] = json.list(2);
    const word = dtype.string();
    if (!isDType(word)) return dtype.fail('a dtype');
    return { dtype: word, shape: shape.list().map((dim) => this.dim(dim)) };
  }

  /** Attributes of a call; empty when its operator has none. */
  attributes({ attributes: schema }: Operator, call: JsonReader): Attributes {
    const json = call.optional('attributes');
    const given = (json?.record() ?? {}) as Record<string, Json>;
    const decoded = (json ?? call).guard(() => decodeAttributes(schema, given));
    return mapAttributeDims(schema, decoded, (dim) => substituteDim(dim, this.#symbols));
  }

  decided(json: JsonReader | undefined): readonly DecidedSize[] {
    return (json?.list() ?? []).map((entry) => {
      const [size, most] = entry.list(2);
      return { size: this.dim(size), most: most.isNull() ? null : this.dim(most) };
    });
  }

  dim(json: JsonReader): Dim {
    if (typeof json.raw() !== 'string') return json.integer();
    const text = json.string();
    let dim = this.#dims.get(text);
    if (dim === undefined) {
      this.#dims.set(text, (dim = json.guard(() => parseDim(text, this.#ranges))));
    }
    return dim;
  }
}
