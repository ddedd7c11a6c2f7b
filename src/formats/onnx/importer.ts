import { type Dim, isStatic, elementCount, symbolsOf } from '../../base/dim/index.js';
import { UnsupportedError } from '../../base/errors.js';
import type { CallNode, Value } from '../../ir/program.js';
import { Value as ProgramValue } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { mostLevels, mostRepeatedNodes } from '../../ir/formats/limits.js';
import * as ops from '../../ops/index.js';
import { AttributeList } from './attributes.js';
import { checkGraphProto, checkNodes, nodePlace, opsetsOf } from './model.js';
import { ImportedNode, inNode, type Results, type ImportRule } from './node.js';
import { type ImportedOperand, TensorOperand } from './operand.js';
import type { ExternalData } from './external.js';
import { damagedFile, illFormedGraph, importOp, quotedName } from './place.js';
import type {
  FunctionProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
} from './proto/onnx_pb.js';
import { type ImportedRegion, NameScope } from './region.js';
import { readSparse, readTensor } from './tensor.js';

/** Runs one call on constants; null when that is not possible. */
export type EvaluateCall = (
  call: CallNode,
  operands: readonly ConstantData[],
) => readonly ConstantData[] | null;

/** Size limit of values that are constant-folded while a model is read. */
const mostEvaluated = 65536;

/** Context of nodes: opset versions, and the attributes of the enclosing function. */
interface Frame {
  readonly opsets: ReadonlyMap<string, number>;
  readonly attributes: AttributeList | null;
}

/** Turns the graphs of one model into programs. */
export class Importer {
  readonly external: ExternalData | null;
  readonly #functions: Map<string, FunctionProto> = new Map();
  readonly #constants: Map<TensorProto, TensorOperand> = new Map();
  readonly #evaluate: EvaluateCall;
  readonly #evaluations: Map<Value, ConstantData | null> = new Map();
  readonly #asParameter: (name: string, operand: TensorOperand) => TensorOperand;
  /** Names of the graph's inputs by their values. */
  readonly inputNames: Map<Value, string> = new Map();
  readonly #randomState: () => Value;
  readonly #ruleFor: (node: ImportedNode) => ImportRule;
  #random: Value | undefined;
  /** Number of random draws. */
  draws = 0;
  #frame: Frame;
  #depth = 0;
  #nodes = 0;

  /**
   * @param asParameter Converts initializers of the outermost graph.
   * @param randomState Makes the input for the state of the random generator.
   * @param ruleFor The rule for a node; throws for an operator without one.
   */
  constructor(
    model: ModelProto,
    external: ExternalData | null,
    evaluate: EvaluateCall,
    asParameter: (name: string, operand: TensorOperand) => TensorOperand,
    randomState: () => Value,
    ruleFor: (node: ImportedNode) => ImportRule,
  ) {
    this.#ruleFor = ruleFor;
    this.#randomState = randomState;
    this.external = external;
    this.#evaluate = evaluate;
    this.#asParameter = asParameter;
    this.#frame = { opsets: opsetsOf(model.opsetImport), attributes: null };
    for (const each of model.functions) {
      const key = functionKey(each.domain, each.name, each.overload);
      if (this.#functions.has(key))
        throw illFormedGraph(`two functions are called ${quotedName(each.name)}`);
      this.#functions.set(key, each);
    }
  }

  /** Defines the initializers of a graph. */
  defineStored(graph: GraphProto, scope: NameScope, isOutermost: boolean): void {
    const define = (name: string, operand: TensorOperand): void => {
      scope.define(name, isOutermost ? this.#asParameter(name, operand) : operand);
    };
    for (const proto of graph.initializer) {
      const tensor = readTensor(proto, `initializer ${quotedName(proto.name)}`, this.external);
      define(proto.name, TensorOperand.constant(tensor, tensor.element));
    }
    for (const proto of graph.sparseInitializer) {
      const name = proto.values?.name ?? '';
      const tensor = readSparse(proto, `initializer ${quotedName(name)}`, this.external);
      define(name, TensorOperand.constant(tensor, tensor.element));
    }
  }

  /** A tensor that an attribute holds. */
  constantOf(proto: TensorProto, what: string): TensorOperand {
    let operand = this.#constants.get(proto);
    if (operand === undefined) {
      const tensor = readTensor(proto, what, this.external);
      operand = TensorOperand.constant(tensor, tensor.element);
      this.#constants.set(proto, operand);
    }
    return operand;
  }

  /** Imports a nested graph on operands for its inputs; returns at least `count` results. */
  subgraph(
    graph: GraphProto,
    scope: NameScope,
    inputs: readonly ImportedOperand[],
    outputs: number,
    region: ImportedRegion = scope.region,
  ): readonly ImportedOperand[] {
    const where = graph.name === '' ? 'a sub-graph' : `graph ${quotedName(graph.name)}`;
    checkGraphProto(graph, (name) => scope.has(name), where);
    if (graph.input.length !== inputs.length) {
      throw damagedFile(`${where} has another number of inputs`, String(inputs.length), String(graph.input.length)); // prettier-ignore
    }
    if (graph.output.length < outputs) {
      throw damagedFile(
        `${where} has too few outputs`,
        `at least ${outputs}`,
        String(graph.output.length),
      );
    }
    const inner = new NameScope(region, scope);
    graph.input.forEach(({ name }, i) => inner.define(name, inputs[i]));
    return this.nested(where, () => {
      this.defineStored(graph, inner, false);
      this.run(graph.node, inner);
      return graph.output.map(({ name }) => this.result(inner, name, where));
    });
  }

  result(scope: NameScope, name: string, where: string): ImportedOperand {
    const found = scope.find(name);
    if (found === undefined)
      throw illFormedGraph(`output ${quotedName(name)} of ${where} is never computed`);
    if (found === null)
      throw illFormedGraph(`output ${quotedName(name)} of ${where} is an input that was left out`);
    return found;
  }

  nested<R>(where: string, build: () => R): R {
    if (this.#depth >= mostLevels) throw damagedFile(`${where} is nested too deeply`, `at most ${mostLevels} levels`); // prettier-ignore
    this.#depth++;
    try {
      return build();
    } finally {
      this.#depth--;
    }
  }

  /** Imports nodes in order and defines their outputs. */
  run(nodes: readonly NodeProto[], scope: NameScope): void {
    nodes.forEach((proto, index) => {
      if (this.#depth > 0 && ++this.#nodes > mostRepeatedNodes) throw damagedFile('the functions of the model make too many nodes', `at most ${mostRepeatedNodes}`); // prettier-ignore
      const place = nodePlace(proto, index);
      const results = this.#results(proto, place, scope);
      proto.output.forEach((name, k) => {
        if (name === '') return;
        const result = results[k] ?? null;
        if (result === null) {
          throw new UnsupportedError(`${place}: output ${k} of ${proto.opType} is not available`, {
            op: importOp,
          });
        }
        scope.define(name, result instanceof ProgramValue ? TensorOperand.of(result) : result);
      });
    });
  }

  #results(
    proto: NodeProto,
    place: string,
    scope: NameScope,
  ): readonly (Value | ImportedOperand | null)[] {
    const inputs = proto.input.map((name): ImportedOperand | null => {
      if (name === '') return null;
      const found = scope.find(name);
      if (found === undefined)
        throw illFormedGraph(`${place} reads ${quotedName(name)}, which nothing defines`);
      return found;
    });
    const attributes = new AttributeList(proto.attribute, place, this.#frame.attributes);
    const domain = proto.domain === 'ai.onnx' ? '' : proto.domain;
    const called = this.#functions.get(functionKey(proto.domain, proto.opType, proto.overload));
    if (called !== undefined) return this.#call(called, inputs, attributes, scope);
    const version = this.#frame.opsets.get(domain);
    if (version === undefined) {
      throw illFormedGraph(`${place} uses operators of domain ${quotedName(domain)}, which the model does not import`); // prettier-ignore
    }
    const node = new ImportedNode(this, scope, proto, version, inputs, attributes, place);
    const rule = this.#ruleFor(node);
    const foreign = inputs.find((input) => input?.kind === 'tensor' && !input.element.isOwn);
    if (foreign?.kind === 'tensor' && rule.foreign !== true) {
      throw node.unsupported('no rule for this element type', foreign.element.name);
    }
    return scope.region.program.withSource(`${place} (${proto.opType})`, () => {
      try {
        return listOf(rule.run(node));
      } catch (error) {
        throw inNode(error, node);
      }
    });
  }

  #call(
    called: FunctionProto,
    inputs: readonly (ImportedOperand | null)[],
    given: AttributeList,
    scope: NameScope,
  ): readonly (ImportedOperand | null)[] {
    const where = `function ${quotedName(called.name)}`;
    if (inputs.length > called.input.length) {
      throw damagedFile(`${where} is called with too many inputs`, String(called.input.length), String(inputs.length)); // prettier-ignore
    }
    const frame: Frame = {
      opsets: opsetsOf(called.opsetImport),
      attributes: new AttributeList(
        [...given.all.values(), ...called.attributeProto.filter(({ name }) => !given.has(name))],
        where,
      ),
    };
    const inner = new NameScope(scope.region, null);
    // An operand that the caller omits is omitted wherever the body passes it on.
    called.input.forEach((name, i) => inner.define(name, inputs[i] ?? null));
    checkNodes(called.node, called.input, called.output, () => false, where);
    const outer = this.#frame;
    this.#frame = frame;
    try {
      return this.nested(where, () => {
        this.run(called.node, inner);
        return called.output.map((name) => this.result(inner, name, where));
      });
    } finally {
      this.#frame = outer;
    }
  }

  /** True for a number, or a size made of sizes of the inputs. */
  isDeclared(dim: Dim): boolean {
    if (isStatic(dim)) return true;
    const types = [...this.inputNames.keys()].map(({ type }) => type);
    const declared = symbolsOfTypes(types);
    return [...symbolsOf(dim)].every((name) => declared.has(name));
  }

  /** The state from which one random draw starts. */
  draw(node: ImportedNode): Value {
    const { region } = node;
    if (region.parent !== null) {
      throw node.unsupported('it draws random numbers inside of a loop or a branch');
    }
    this.#random ??= this.#randomState();
    const count = this.draws++;
    return count === 0 ? this.#random : advanced(this.#random, count, region);
  }

  /** The random state after all draws; null when there are none. */
  stateAfter(region: ImportedRegion): Value | null {
    return this.#random === undefined ? null : advanced(this.#random, this.draws, region);
  }

  /** The elements of a value that depends on constants only; null for others. */
  evaluated(value: Value): ConstantData | null {
    const known = this.#evaluations.get(value);
    if (known !== undefined) return known;
    const found = this.#evaluatedAnew(value);
    this.#evaluations.set(value, found);
    return found;
  }

  #evaluatedAnew(value: Value): ConstantData | null {
    const { program } = value;
    const order: Value[] = [];
    const seen = new Set<number>();
    const open = [value];
    while (open.length > 0) {
      const next = open.pop()!;
      if (seen.has(next.node)) continue;
      seen.add(next.node);
      const node = program.node(next.node);
      const size = elementCount(next.type.shape);
      if (node.kind === 'variable' || !isStatic(size) || size > mostEvaluated) {
        if (node.kind !== 'constant') return null;
      }
      order.push(next);
      open.push(...program.operands(next.node));
    }
    const results = new Map<number, readonly ConstantData[]>();
    for (const { node: id } of order.sort((a, b) => a.node - b.node)) {
      const node = program.node(id);
      if (node.kind === 'constant') results.set(id, [node.data]);
      else if (node.kind === 'call') {
        // Not evaluated: a loop may not terminate.
        if (node.regions.length > 0) return null;
        const operands = program.operands(id).map(({ node, port }) => results.get(node)![port]);
        const made = this.#evaluate(node, operands);
        if (made === null) return null;
        results.set(id, made);
      }
    }
    return results.get(value.node)![value.port];
  }

  /** The names of the graph's inputs that a value depends on. */
  inputsBehind(value: Value, isWanted: (input: Value) => boolean = () => true): readonly string[] {
    const { program } = value;
    const seen = new Set<number>();
    const names = new Set<string>();
    const open = [value];
    while (open.length > 0) {
      const next = open.pop()!;
      if (seen.has(next.node)) continue;
      seen.add(next.node);
      const name = this.inputNames.get(next);
      if (name !== undefined && isWanted(next)) names.add(name);
      open.push(...program.operands(next.node));
    }
    return [...names];
  }
}

function functionKey(domain: string, name: string, overload: string): string {
  return JSON.stringify([domain === 'ai.onnx' ? '' : domain, name, overload]);
}

function listOf(results: Results): readonly (Value | ImportedOperand | null)[] {
  return Array.isArray(results)
    ? (results as readonly (Value | ImportedOperand | null)[])
    : [results as Value | ImportedOperand];
}

/** The random state after a number of draws: a seed, and a counter. */
function advanced(state: Value, count: number, region: ImportedRegion): Value {
  const type = { dtype: 'int64', shape: [2] } as const;
  const step = region.constant({ type, data: BigInt64Array.of(0n, BigInt(count)) });
  return ops.add(state, step);
}
