import { ArgumentError, UnsupportedError } from '../../../base/errors.js';
import type { Bounds } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import {
  namedInputs,
  type Output,
  type Program,
  typeToString,
  type Value,
} from '../../../ir/program.js';
import { sameType, type ConstantData, type Shape } from '../../../ir/types.js';
import { reshape } from '../../../ops/movement/reshape.js';
import type { ElementType } from '../elements.js';
import type { ExternalData } from '../external.js';
import { type EvaluateCall, Importer } from '../importer.js';
import { checkGraphProto, opsetsOf, readModel } from '../model.js';
import { type ImportedOperand, TensorOperand } from '../operand.js';
import { operatorTitle } from '../node.js';
import { damagedFile, importOp, quotedName } from '../place.js';
import type { ModelProto } from '../proto/onnx_pb.js';
import { ImportedRegion, NameScope } from '../region.js';
import { ruleFor } from '../rules/index.js';
import { type GraphStructure, structureFrom, structureKey } from '../structure.js';
import { type DeclaredType, declaredType, Dimensions } from '../types.js';

/** Request for an input, beyond the declarations of the model. */
export interface InputRequest {
  /** Sizes: numbers, or names of symbols. For inputs without a declared shape, or to fix sizes. */
  readonly shape?: readonly (number | string)[];
  /** Elements, which become constants of the graph; it is then not an input. */
  readonly value?: ConstantData;
}

/** A list for a sequence, one entry for each tensor; null for an omitted optional input. */
export type InputRequests = InputRequest | readonly InputRequests[] | null;

export interface ImportRequest {
  readonly external: ExternalData | null;
  readonly evaluate: EvaluateCall;
  readonly inputs: ReadonlyMap<string, InputRequests>;
}

/** An input of the program that the model supplies: an initializer, or the state of the random generator. */
export type ImportedRead =
  { readonly kind: 'parameter'; readonly data: ConstantData } | { readonly kind: 'random' };

/** Facts about a model's file. */
export interface ModelFacts {
  readonly irVersion: number;
  /** Opset versions by domain; ONNX's own is ''. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly producer: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly modelVersion: bigint;
  readonly description: string;
  readonly graphName: string;
  readonly metadata: ReadonlyMap<string, string>;
  /**
   * ONNX names of the element types of the inputs and outputs, which may differ from the dtypes that carry
   * them.
   */
  readonly elements: ReadonlyMap<string, string>;
}

export interface ImportedModel {
  /** Its inputs are those of the model, then its reads. */
  readonly program: Program;
  readonly reads: readonly ImportedRead[];
  /** The reads whose next values are the last outputs, in order. */
  readonly nexts: readonly number[];
  /** Number of random draws; null when only a run decides it. */
  readonly draws: number | null;
  readonly facts: ModelFacts;
}

/**
 * Reads a model as a program.
 * @throws FormatError for damaged files, GraphError for ill-formed graphs, UnsupportedError for operators
 * without a counterpart, naming operator and opset.
 */
export function importModel(bytes: Uint8Array, request: ImportRequest): ImportedModel {
  const model = readModel(bytes);
  const graph = model.graph!;
  const region = new ImportedRegion(null);
  const reads: ImportedRead[] = [];
  const structure = structureOf(model);
  const random = (): Value => {
    reads.push({ kind: 'random' });
    const type = { dtype: 'int64', shape: [2] } as const;
    return region.program.variable(region.program.freshName('random'), type);
  };
  const asParameter = (name: string, operand: TensorOperand): TensorOperand => {
    const data = operand.data!;
    if (structure !== null) {
      const read = structure.reads.find((each) => each.name === name);
      if (read === undefined) return operand;
      if (read.kind === 'random' && typeToString(data.type) !== 'int64[2]')
        throw damagedFile(`${quotedName(name)} is no state of the random generator`);
      reads.push(read.kind === 'random' ? { kind: 'random' } : { kind: 'parameter', data });
      return TensorOperand.of(region.program.variable(name, data.type), operand.element);
    }
    if (!isFloat(data.type.dtype) || data.type.shape.length === 0 || !operand.element.isOwn) {
      return operand;
    }
    return TensorOperand.parameter(operand, () => {
      const free = region.program.freshName(name);
      reads.push({ kind: 'parameter', data });
      return region.program.variable(free, data.type);
    });
  };
  const { external, evaluate } = request;
  const importer = new Importer(model, external, evaluate, asParameter, random, ruleFor);
  checkGraphProto(graph, () => false, 'the graph');
  const scope = new NameScope(region, null);
  const elements = new Map<string, string>();
  defineInputs(model, scope, importer, request.inputs, {
    elements,
    symbols: structure?.symbols ?? null,
  });
  importer.defineStored(graph, scope, true);
  importer.run(graph.node, scope);
  const outputs = graph.output.flatMap(({ name }) =>
    namedTensors(name, importer.result(scope, name, 'the graph')),
  );
  const named = outputs.map(({ name, operand }) => {
    elements.set(name, operand.element.name);
    return { name, value: operand.valueIn(region) };
  });
  const { program } = region;
  const facts = factsOf(model, elements);
  if (structure !== null) return { program, reads, ...restored(program, named, structure), facts };
  const after = importer.stateAfter(region);
  const rest = after === null ? [] : [{ name: freeName('random', named), value: after }];
  program.setOutputs([...named, ...rest]);
  const nexts = after === null ? [] : [reads.findIndex(({ kind }) => kind === 'random')];
  return { program, reads, nexts, draws: importer.draws, facts };
}

/** Structure metadata written by Kaon; null for other models. */
function structureOf({ metadataProps }: ModelProto): GraphStructure | null {
  const text = metadataProps.find(({ key }) => key === structureKey)?.value;
  return text === undefined ? null : structureFrom(text);
}

/** Restores the outputs that a program had when it was written, followed by the next values of its state. */
function restored(
  program: Program,
  named: readonly Output[],
  { reads, outputs }: GraphStructure,
): Pick<ImportedModel, 'nexts' | 'draws'> {
  const read = namedInputs(program).slice(program.inputs.length - reads.length);
  const changing = reads.flatMap(({ next }, k) => (next === null ? [] : [{ next, k }]));
  const isNext = new Set(changing.map(({ next }) => next));
  const returned = named.filter(({ name }) => !isNext.has(name));
  if (
    reads.some(({ name }, k) => read[k]?.name !== name) ||
    returned.length !== outputs.length ||
    isNext.size !== changing.length
  ) {
    throw damagedFile('the structure in the metadata is not that of the model');
  }
  const nexts = changing.map(({ next, k }) => {
    const { type } = read[k];
    const found = named.find(({ name }) => name === next)?.value;
    if (found?.type.dtype !== type.dtype)
      throw damagedFile(
        `output ${quotedName(next)} is no next value of ${quotedName(reads[k].name)}`,
      );
    return sameType(found.type, type) ? found : reshape<Value>(found, type.shape);
  });
  program.setOutputs([
    ...returned.map(({ value }, i) => ({ name: outputs[i], value })),
    ...nexts.map((value, i) => ({ name: changing[i].next, value })),
  ]);
  const random = reads.find(({ kind }) => kind === 'random');
  return { nexts: changing.map(({ k }) => k), draws: random === undefined ? 0 : random.draws };
}

function freeName(hint: string, taken: readonly { readonly name: string }[]): string {
  let name = hint;
  for (let count = 2; taken.some((each) => each.name === name); count++) name = `${hint}_${count}`;
  return name;
}

/** The tensors of an output: entries of sequences are numbered, unless a loop decides how many there are. */
function namedTensors(
  name: string,
  operand: ImportedOperand,
): readonly { readonly name: string; readonly operand: TensorOperand }[] {
  if (operand.kind === 'tensor') return [{ name, operand }];
  if (operand.kind === 'optional') {
    return operand.entry === null ? [] : namedTensors(name, operand.entry);
  }
  if (operand.kind === 'rows') return [{ name, operand: operand.rows }];
  return operand.entries.flatMap((entry, k) => namedTensors(`${name}.${k}`, entry));
}

function defineInputs(
  { graph, opsetImport }: ModelProto,
  scope: NameScope,
  importer: Importer,
  requests: ReadonlyMap<string, InputRequests>,
  facts: {
    readonly elements: Map<string, string>;
    readonly symbols: ReadonlyMap<string, Bounds> | null;
  },
): void {
  const { input, initializer, sparseInitializer } = graph!;
  // Before version 4 of the format initializers are also listed as inputs.
  const stored = new Set([
    ...initializer.map(({ name }) => name),
    ...sparseInitializer.map(({ values }) => values?.name ?? ''),
  ]);
  const given = input.filter(({ name }) => !stored.has(name));
  for (const name of requests.keys()) {
    if (given.some((each) => each.name === name)) continue;
    throw new ArgumentError(`the model has no input ${name}`, {
      op: importOp,
      expected: given.map((each) => each.name).join(', ') || 'no inputs',
      actual: name,
    });
  }
  const { elements, symbols } = facts;
  const dimensions = new Dimensions(symbols);
  const opsets = opsetsOf(opsetImport);
  const types = given.map((each) => {
    const reader = graph!.node.find(({ input }) => input.includes(each.name));
    const version = opsets.get(reader?.domain ?? '') ?? 0;
    return declaredType(each, reader === undefined ? null : operatorTitle(reader, version));
  });
  types.forEach((type) => nameDimensions(type, dimensions));
  given.forEach(({ name }, i) => {
    const request = requests.get(name);
    scope.define(name, inputOf(name, types[i], request, { dimensions, scope, importer, elements }));
  });
}

/** Named sizes come first: unnamed ones get unused names. */
function nameDimensions(type: DeclaredType, dimensions: Dimensions): void {
  if (type.kind !== 'tensor') nameDimensions(type.of, dimensions);
  else {
    for (const { value } of type.shape?.dim ?? []) {
      if (value.case === 'dimParam' && value.value !== '') dimensions.named(value.value);
    }
  }
}

interface InputContext {
  readonly dimensions: Dimensions;
  readonly scope: NameScope;
  readonly importer: Importer;
  readonly elements: Map<string, string>;
}

function inputOf(
  name: string,
  type: DeclaredType,
  request: InputRequests | undefined,
  context: InputContext,
): ImportedOperand {
  if (type.kind === 'optional') {
    if (request === null) return { kind: 'optional', entry: null };
    const entry = inputOf(name, type.of, request, context);
    if (entry.kind === 'optional')
      throw damagedFile(`input ${quotedName(name)} is an optional of an optional`);
    return { kind: 'optional', entry };
  }
  if (type.kind === 'sequence') {
    if (!Array.isArray(request)) {
      throw new UnsupportedError(`input ${quotedName(name)} is a sequence of unknown length`, {
        op: importOp,
        expected: 'the option inputs to have a list for it, one entry for each of its tensors',
        advice: `give inputs: { ${JSON.stringify(name)}: [{ shape: [...] }, ...] }`,
      });
    }
    const list = request as readonly InputRequests[];
    const entries = list.map((each, k) => inputOf(`${name}.${k}`, type.of, each, context));
    return { kind: 'sequence', entries };
  }
  if (request === null || Array.isArray(request)) {
    throw new ArgumentError(`input ${name} is a tensor`, {
      op: importOp,
      expected: '{ shape } or { value }',
      actual: request === null ? 'null' : 'a list',
    });
  }
  return tensorInput(name, type.element, type, request as InputRequest | undefined, context);
}

function tensorInput(
  name: string,
  element: ElementType,
  { shape: declared }: DeclaredType & { kind: 'tensor' },
  request: InputRequest | undefined,
  { dimensions, scope, importer, elements }: InputContext,
): TensorOperand {
  if (request?.value !== undefined) {
    const { value } = request;
    if (value.type.dtype === element.carrier) return TensorOperand.constant(value, element);
    throw new ArgumentError(`the value of input ${name} has another dtype`, {
      op: importOp,
      expected: element.carrier,
      actual: value.type.dtype,
    });
  }
  const shape: Shape | null =
    request?.shape?.map((size) => (typeof size === 'number' ? size : dimensions.named(size))) ??
    (declared === null ? null : dimensions.shapeOf(declared, `input ${quotedName(name)}`));
  if (shape === null) {
    throw new UnsupportedError(`input ${quotedName(name)} has no shape in the model`, {
      op: importOp,
      expected: 'the number of its axes',
      advice: `give inputs: { ${JSON.stringify(name)}: { shape: [...] } }, with names for sizes that vary`,
    });
  }
  elements.set(name, element.name);
  const value = scope.region.program.variable(name, { dtype: element.carrier, shape });
  importer.inputNames.set(value, name);
  return TensorOperand.of(value, element);
}

function factsOf(model: ModelProto, elements: ReadonlyMap<string, string>): ModelFacts {
  return {
    irVersion: Number(model.irVersion),
    opsets: opsetsOf(model.opsetImport),
    producer: model.producerName,
    producerVersion: model.producerVersion,
    domain: model.domain,
    modelVersion: model.modelVersion,
    description: model.docString,
    graphName: model.graph!.name,
    metadata: new Map(model.metadataProps.map(({ key, value }) => [key, value])),
    elements,
  };
}
