import { type Attributes, checkAttributes } from '../base/attributes/schema.js';
import type { Bounds, Dim, DimExpr } from '../base/dim/index.js';
import type { Operator } from './operator.js';
import { GraphError } from '../base/errors.js';
import { Graph, type NodeId } from '../graph/graph.js';
import { FreshDims } from './fresh-dims.js';
import { conditionKey, requireOrKeep, type Requirement } from './requirement.js';
import { SharedSizes } from './shared-sizes.js';
import { nameOfSize, SizeSources } from './size-sources.js';
import {
  type ConstantData,
  type DataEdge,
  type Edge,
  type Shape,
  Tensor,
  type TensorType,
} from './types.js';

export interface VariableNode {
  readonly kind: 'variable';
  readonly name: string;
  readonly type: TensorType;
}

export interface ConstantNode {
  readonly kind: 'constant';
  readonly data: ConstantData;
}

/** A size that only the data of a call decides. */
export interface DecidedSize {
  /** A symbol; a number or an expression where a pass has found out more. */
  readonly size: Dim;
  /** Upper bound in symbols, where inference states one. */
  readonly most: Dim | null;
}

export interface CallNode {
  readonly kind: 'call';
  readonly op: Operator;
  readonly attributes: Attributes;
  /** Sub-programs that the operator owns. They capture nothing: all inputs are explicit. */
  readonly regions: readonly Program[];
  readonly types: readonly TensorType[];
  /** The fresh sizes that inference asks for, in that order. Calls that select alike share them. */
  readonly decides: readonly DecidedSize[];
  /** The user's source line, where one was recorded. */
  readonly source: string | undefined;
}

/**
 * A condition of sizes that a run has to meet. It has no results and is a root of liveness, like an output: it
 * stays as long as the program, and keeps the calls that decide the sizes it speaks of.
 */
export interface CheckNode {
  readonly kind: 'check';
  readonly requirement: Requirement;
}

/** Regions, source line and, where its types are given, decided sizes of a call. */
export interface CallDetails {
  readonly regions?: readonly Program[];
  readonly decides?: readonly DecidedSize[] | undefined;
  readonly source?: string | undefined;
}

// Shared, since most of a million calls have neither.
const noAttributes: Attributes = {};
const noRegions: readonly Program[] = [];
const noSizes: readonly DecidedSize[] = [];
const noDetails: CallDetails = {};
const noReads: readonly Value[] = [];
const noTypes: readonly TensorType[] = [];

/** One shared edge for each port. */
const dataEdges: DataEdge[] = [];

export type ProgramNode = VariableNode | ConstantNode | CallNode | CheckNode;

export interface Output {
  readonly name: string;
  readonly value: Value;
}

/** One result of one node. There is exactly one object per result, so identity is equality. */
export class Value extends Tensor {
  /** Called by `Program` only. */
  constructor(
    readonly program: Program,
    readonly node: NodeId,
    readonly port: number,
    readonly type: TensorType,
  ) {
    super();
  }
}

/**
 * A tensor program: a graph that grows at its end only, so the order of its nodes is a topological
 * order and every pass is a loop. Passes build a new program rather than edit one.
 */
export class Program {
  readonly graph: Graph<ProgramNode, Edge>;
  readonly #nodes: readonly ProgramNode[];
  readonly #values: Value[][] = [];
  /** Cache of each node's operands: passes ask for them again and again. */
  readonly #operands: (readonly Value[])[] = [];
  readonly #inputs: Value[] = [];
  readonly #names: Set<string> = new Set();
  /** For each name hint, a number below which all names are taken. */
  readonly #nameCounts: Map<string, number> = new Map();
  #outputs: readonly Output[] = [];
  readonly #parameters: DimExpr[] = [];
  /** Requirements of the check nodes, in their order, and the keys of their conditions. */
  readonly #requirements: Requirement[] = [];
  readonly #required: Set<string> = new Set();
  #source: string | undefined;
  #isAssuming = false;
  readonly #freshDims: FreshDims = new FreshDims(this.#values);
  readonly #sizes: SharedSizes = new SharedSizes();
  readonly #sources: SizeSources = new SizeSources();

  /** @param capacity Edges to reserve. */
  constructor(capacity?: number) {
    this.graph = new Graph<ProgramNode, Edge>(Uint32Array, capacity);
    this.#nodes = this.graph.weights;
  }

  /**
   * A new program made from another by `fill`. While it is filled, fresh dimensions also avoid the
   * names of the original, whose later nodes may yet be copied. Its size parameters are `sizes`, by default those
   * of the original.
   */
  static from(
    original: Program,
    fill: (program: Program) => void,
    sizes: readonly DimExpr[] = original.sizes,
  ): Program {
    const program = new Program(original.graph.edgeCount);
    program.#freshDims.origin = original.#freshDims;
    for (const size of sizes) program.takeSize(size);
    fill(program);
    program.#freshDims.origin = undefined;
    return program;
  }

  /** The variables, in the order in which they were made. */
  get inputs(): readonly Value[] {
    return this.#inputs;
  }

  get outputs(): readonly Output[] {
    return this.#outputs;
  }

  /** Size parameters, each a symbol: sizes that the program is passed as numbers, beside its inputs. */
  get sizes(): readonly DimExpr[] {
    return this.#parameters;
  }

  /** Adds a size parameter, before anything else speaks of the symbol. */
  takeSize(size: DimExpr): void {
    if (nameOfSize(size) === null || this.knowsSize(size.key)) {
      throw new GraphError(`${size.key} cannot be a size parameter`, {
        op: 'Program.takeSize',
        expected: 'a symbol of which nothing speaks yet',
      });
    }
    this.#parameters.push(size);
    this.#sources.take(size);
    this.#freshDims.exclude(size.key);
  }

  /** Conditions of the check nodes, in order. */
  get requirements(): readonly Requirement[] {
    return this.#requirements;
  }

  /** Adds a check node; of checks with the same condition only the first is kept. */
  require(requirement: Requirement): void {
    const key = conditionKey(requirement);
    if (this.#required.has(key)) return;
    this.#required.add(key);
    this.#requirements.push(requirement);
    this.#add({ kind: 'check', requirement }, noTypes, noReads);
  }

  variable(name: string, type: TensorType): Value {
    if (this.#names.has(name))
      throw new GraphError(`there are two inputs named ${name}`, { op: 'Program.variable' });
    this.#names.add(name);
    const [value] = this.#add({ kind: 'variable', name, type }, [type], []);
    this.#inputs.push(value);
    return value;
  }

  constant(data: ConstantData): Value {
    return this.#add({ kind: 'constant', data }, [data.type], [])[0];
  }

  /** Appends a call: checks its attributes, infers its result types, and collects its requirements. */
  append(
    op: Operator,
    inputs: readonly Value[],
    attributes: Attributes = noAttributes,
    details: CallDetails = noDetails,
  ): readonly Value[] {
    checkAttributes(op.name, op.attributes, attributes);
    const { regions = noRegions, source } = details;
    const sizeOf = this.#sizes.freshFor(op, inputs, attributes, (hint, bounds) =>
      this.freshDim(hint, bounds),
    );
    let decides: DecidedSize[] | undefined;
    const types = op.infer({
      inputs: inputs.map((input) => input.type),
      attributes,
      regions,
      fresh: (hint, bounds) => {
        const size = sizeOf(hint, bounds);
        (decides ??= []).push({ size, most: bounds?.most ?? null });
        return size;
      },
      require: requireOrKeep((requirement) => {
        if (this.#isAssuming) return;
        this.require({ ...requirement, source: requirement.source ?? source ?? this.#source });
      }),
    });
    return this.appendTyped(op, inputs, attributes, types, { regions, decides, source });
  }

  /** Appends a call whose result types, and the sizes that it decides, the caller has already inferred. */
  appendTyped(
    op: Operator,
    inputs: readonly Value[],
    attributes: Attributes,
    types: readonly TensorType[],
    details: CallDetails = noDetails,
  ): readonly Value[] {
    const node: CallNode = {
      kind: 'call',
      op,
      attributes,
      regions: details.regions ?? noRegions,
      types,
      decides: details.decides ?? noSizes,
      source: details.source ?? this.#source,
    };
    return this.#add(node, types, inputs);
  }

  /** Appends a copy of a node of any program: its operator, attributes, regions, types and source. */
  appendNode(node: CallNode, inputs: readonly Value[]): readonly Value[] {
    return this.#add(node, node.types, inputs);
  }

  setOutputs(outputs: readonly Output[]): void {
    const names = new Set<string>();
    for (const { name, value } of outputs) {
      this.#own(value);
      if (names.has(name))
        throw new GraphError(`there are two outputs named ${name}`, { op: 'Program.setOutputs' });
      names.add(name);
    }
    this.#outputs = [...outputs];
  }

  node(id: NodeId): ProgramNode {
    // Asked for more often than all else together; the graph knows what to say of an id that it lacks.
    return this.#nodes[id] ?? this.graph.node(id);
  }

  /** The calls in their order, by their ids. */
  *calls(): Generator<readonly [id: NodeId, call: CallNode]> {
    for (const id of this.graph.nodes()) {
      const node = this.node(id);
      if (node.kind === 'call') yield [id, node];
    }
  }

  /** The results of a node, one value per port. */
  results(id: NodeId): readonly Value[] {
    return this.#values[id];
  }

  /** The values that a node reads, in order. */
  operands(id: NodeId): readonly Value[] {
    return this.#operands[id];
  }

  /** Data-dependent sizes by name, each with a result of the call that decides it. */
  get decidedSizes(): ReadonlyMap<string, Value> {
    return this.#sources.decided;
  }

  /** True for a size that the program is passed, an input brings or a call decides. */
  knowsSize(name: string): boolean {
    return this.#sources.isKnown(name);
  }

  /** Dependences beside the operands: results of the calls that decide the sizes in the node's types. */
  sizeReads(id: NodeId): readonly Value[] {
    if (this.decidedSizes.size === 0) return noReads;
    const reads = new Set<Value>();
    this.graph.forEachInEdge(id, (edge) => {
      const weight = this.graph.edge(edge);
      if (weight.kind === 'size') reads.add(this.decidedSizes.get(weight.name)!);
    });
    return [...reads];
  }

  /**
   * Runs `build`, whose calls replace one that has stated its requirements already: they are right for all
   * sizes that it accepts, so their own requirements are not recorded.
   */
  assuming<R>(build: () => R): R {
    const previous = this.#isAssuming;
    this.#isAssuming = true;
    try {
      return build();
    } finally {
      this.#isAssuming = previous;
    }
  }

  /** Runs `build`; the calls it appends have this source unless they name their own. */
  withSource<R>(source: string | undefined, build: () => R): R {
    const previous = this.#source;
    this.#source = source;
    try {
      return build();
    } finally {
      this.#source = previous;
    }
  }

  /** A symbol that no other dimension of this program uses. */
  freshDim(hint: string, bounds?: Partial<Bounds>): DimExpr {
    return this.#freshDims.fresh(hint, bounds);
  }

  /** An unused name for an input: the hint itself if possible. */
  freshName(hint: string): string {
    if (!this.#names.has(hint)) return hint;
    let count = this.#nameCounts.get(hint) ?? 2;
    while (this.#names.has(`${hint}_${count}`)) count++;
    this.#nameCounts.set(hint, count);
    return `${hint}_${count}`;
  }

  #add(node: ProgramNode, types: readonly TensorType[], operands: readonly Value[]): Value[] {
    // Every pass adds every node again, mostly before the engine has optimized anything: no iterators here.
    for (let i = 0; i < operands.length; i++) this.#own(operands[i]);
    const id = this.graph.addNode(node);
    for (let i = 0; i < operands.length; i++) {
      const { node: source, port } = operands[i];
      this.graph.addEdge(source, id, (dataEdges[port] ??= { kind: 'data', port }));
    }
    if ((node.kind === 'call' || node.kind === 'check') && this.decidedSizes.size > 0) {
      for (const name of this.#sources.decidedIn(node)) {
        this.graph.addEdge(this.decidedSizes.get(name)!.node, id, { kind: 'size', name });
      }
    }
    // Lists that grow have room for more; most nodes have one result.
    const values = types.length === 1 ? [new Value(this, id, 0, types[0])] : [];
    for (let port = values.length; port < types.length; port++) {
      values.push(new Value(this, id, port, types[port]));
    }
    if (node.kind === 'variable') this.#sources.give(node.type);
    else if (node.kind === 'call' && node.decides.length > 0)
      this.#sources.decide(node.decides, values);
    this.#values.push(values);
    this.#operands.push(operands);
    return values;
  }

  #own(value: Value): void {
    if (value.program !== this)
      throw new GraphError('a value of another program was used here', { op: 'Program.append' });
  }
}

/** A declared input: a name and a type. */
export interface NamedType {
  readonly name: string;
  readonly type: TensorType;
}

/** The inputs of a program as it declares them. */
export function namedInputs(program: Program): readonly NamedType[] {
  const nodes = program.inputs.map(({ node }) => program.node(node) as VariableNode);
  return nodes.map(({ name, type }) => ({ name, type }));
}

/** `float32[n, 10]`. */
export function typeToString(type: { readonly dtype: string; readonly shape: Shape }): string {
  return `${type.dtype}[${type.shape.map(String).join(', ')}]`;
}
