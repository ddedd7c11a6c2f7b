import * as attr from '../../base/attributes/attribute.js';
import { describe, type Json } from '../../base/attributes/attribute.js';
import { type Dim, parseDim } from '../../base/dim/index.js';
import { type DType, dtypes, isDType } from '../../base/dtype.js';
import { ArgumentError, DTypeError, inContext, named } from '../../base/errors.js';
import { checkArgument, instanceOf, valueRule } from '../../base/attributes/options.js';
import { decidesSizes } from '../../ir/all-calls.js';
import { bindShapes } from '../../ir/bind.js';
import { programToDot } from '../../ir/formats/dot.js';
import type { HostValue } from '../../ir/host.js';
import { MadeByFunctions } from '../../base/made.js';
import { namedInputs, type Program } from '../../ir/program.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { checkShape } from '../../ops/declare/infer.js';
import { fetchElements, moveToDevice } from '../devices/placing.js';
import { constantArray } from '../dispatch/operands.js';
import { graphFromJSON, graphToJSON } from './graph-json.js';
import { graphText } from './graph-text.js';
import type { GraphParts } from './graph.js';
import { GraphRunner, holderAmong } from './graph-runner.js';
import { install } from '../arrays/install.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import { recordRule } from './records.js';
import { inferOutputTypes } from './retype.js';

install();

/** A type as users write it: extents may be names or expressions of names. */
export interface TypeRequest {
  readonly shape: readonly (number | string | Dim)[];
  /** Default: the captured dtype. */
  readonly dtype?: DType;
}

/** A captured computation: named inputs, named outputs, and operators between them. */
export class StaticGraph extends MadeByFunctions {
  /** @internal The operators, for compilers and exporters. */
  readonly program: Program;
  /** Names of the arrays that each run takes, in order. */
  readonly inputNames: readonly string[];
  /** Names of the arrays that each run returns, in order. */
  readonly outputNames: readonly string[];
  /** Bound inputs by name: the parameters and other state that the graph reads. */
  readonly parameters: ReadonlyMap<string, NDArray>;
  readonly #runner: GraphRunner;
  readonly #captureStatic: (() => StaticGraph) | null;
  #staticForm: StaticGraph | null = null;

  /**
   * @internal Made by `exportGraph`, `graphFor` and `fromJSON`.
   * @param captureStatic Captures the same code for engines that have to know every size before a run.
   */
  constructor(parts: GraphParts, captureStatic: (() => StaticGraph) | null = null) {
    super();
    this.#captureStatic = captureStatic;
    const { program, reads, writes } = parts;
    const names = namedInputs(program).map(({ name }) => name);
    const given = names.length - reads.length;
    this.program = program;
    this.inputNames = names.slice(0, given);
    this.outputNames = program.outputs
      .slice(0, program.outputs.length - writes.length)
      .map(({ name }) => name);
    this.parameters = new Map(
      reads.flatMap((read, i) =>
        read.kind === 'array' && typeof read.of !== 'number' ? [[names[given + i], read.of]] : [],
      ),
    );
    this.#runner = new GraphRunner(parts);
  }

  /** @internal Meaning of the program's inputs and outputs. */
  get parts(): GraphParts {
    return this.#runner.parts;
  }

  /** @internal The graph itself, or where its data decides sizes, one of the same code in which layers do without. */
  get staticForm(): StaticGraph {
    if (this.#captureStatic === null || !decidesSizes(this.program)) return this;
    return (this.#staticForm ??= this.#captureStatic());
  }

  /**
   * Runs the graph on arrays by name and returns its outputs by name. Takes part in recordings. Symbolic
   * dimensions accept any size.
   *
   * @throws ArgumentError for names that are missing or unknown, ShapeError and DTypeError for arrays that do
   * not fit.
   */
  run(feeds: Readonly<Record<string, NDArray | HostValue>>): Record<string, NDArray> {
    checkArgument('StaticGraph.run', 'feeds', feeds, arraysByName);
    for (const name of Object.keys(feeds)) {
      if (this.inputNames.includes(name)) continue;
      throw new ArgumentError(`there is no input ${name}`, {
        op: 'StaticGraph.run',
        expected: this.inputNames.join(', ') || 'no inputs',
        actual: name,
      });
    }
    const declared = namedInputs(this.program);
    const operands = this.inputNames.map((name, i) => {
      if (!Object.hasOwn(feeds, name)) {
        throw new ArgumentError(`input ${name} is missing`, {
          op: 'StaticGraph.run',
          expected: this.inputNames.join(', '),
          actual: Object.keys(feeds).join(', ') || 'nothing',
        });
      }
      const feed = feeds[name];
      const { dtype } = declared[i].type;
      if (!(feed instanceof NDArray)) return constantArray(feed, dtype, 'StaticGraph.run');
      if (feed.dtype === dtype) return feed;
      throw new DTypeError(`input ${name} has another dtype`, {
        op: 'StaticGraph.run',
        expected: dtype,
        actual: feed.dtype,
        advice: `convert it with astype('${dtype}')`,
      });
    });
    this.#checkShapes(operands);
    try {
      const results = this.#runner.run(operands);
      return Object.fromEntries(this.outputNames.map((name, i) => [name, results[i]]));
    } catch (error) {
      throw named(error, 'StaticGraph.run');
    }
  }

  /** Checks shapes here, where inputs have names, and before random draws. */
  #checkShapes(given: readonly NDArray[]): void {
    const { program, reads } = this.parts;
    // Outside of captured code every size of a computed array is a number.
    const shapeOf = (array: NDArray): Shape =>
      (mode.capture === null ? array.computed() : array).type.shape;
    const holder = holderAmong(given);
    const outside = reads.map((read) => (read.kind === 'array' ? holder(read.of) : null));
    const matches = namedInputs(program).flatMap(({ name, type }, i) => {
      const array = given[i] ?? outside[i - given.length];
      return array === null ? [] : [{ name, declared: type.shape, actual: shapeOf(array) }];
    });
    bindShapes<Dim>(matches, 'StaticGraph.run');
  }

  /**
   * Moves parameters and other state to a device, where runs on arrays of that device find them. They stay shared with
   * the code that the graph was captured from.
   *
   * @throws ArgumentError for a device that is not set up; DeviceError when it has no room, or when the way back has to
   * be waited for (see `cpu`).
   */
  to(device: string): this {
    for (const array of this.parameters.values()) moveToDevice(array, device);
    return this;
  }

  /** Moves parameters and other state to the CPU, from a device that may answer later: files are written from there. */
  async cpu(): Promise<this> {
    await Promise.all([...this.parameters.values()].map(fetchElements));
    return this;
  }

  /** The output types for other input types. Omitted inputs keep their captured types. */
  inferTypes(inputs: Readonly<Record<string, TypeRequest>>): Record<string, TensorType> {
    const types = new Map<string, TensorType>();
    const declared = new Map(namedInputs(this.program).map(({ name, type }) => [name, type]));
    checkArgument('inferTypes', 'inputs', inputs, typesByName);
    for (const [name, request] of Object.entries(inputs)) {
      const known = declared.get(name);
      if (known === undefined) {
        throw new ArgumentError(`there is no input ${name}`, {
          op: 'inferTypes',
          expected: [...declared.keys()].join(', ') || 'no inputs',
          actual: name,
        });
      }
      checkArgument('inferTypes', name, request, typeRequest);
      const { shape, dtype = known.dtype } = request;
      types.set(name, requestedType(name, { shape, dtype }));
    }
    const found = inferOutputTypes(this.program, types);
    return Object.fromEntries(this.outputNames.map((name, i) => [name, found[i]]));
  }

  /**
   * The program as text: types, source lines, and the fused groups with their reads and writes. If it does
   * not compile, the text says why.
   */
  override toString(): string {
    return graphText(this.program);
  }

  /** The program as Graphviz text. */
  toDot(): string {
    return programToDot(this.program, 'graph');
  }

  /** The graph and the values of its parameters as JSON; `fromJSON` is the inverse. */
  toJSON(): Json {
    return graphToJSON(this.parts);
  }

  /**
   * Reads the result of `toJSON`, as a value or as text.
   * @throws FormatError or GraphError for anything else.
   */
  static fromJSON(json: unknown): StaticGraph {
    return new StaticGraph(graphFromJSON(json));
  }
}

const arraysByName = recordRule<NDArray | HostValue>('an object with an array for each input');
const typesByName = recordRule<TypeRequest>('an object with a type for each input');
const typeRequest = valueRule(
  'an object with shape, a list of extents, and dtype',
  (value): value is TypeRequest =>
    typeof value === 'object' && value !== null && Array.isArray((value as TypeRequest).shape),
);

/** Refuses a value that is not a graph; `op` is the public function, `what` its argument or option. */
export function checkGraph(
  op: string,
  graph: unknown,
  what: string = 'graph',
): asserts graph is StaticGraph {
  checkArgument(op, what, graph, graphRule);
}

const graphRule = instanceOf('a StaticGraph, of graphFor, exportGraph or fromOnnx', StaticGraph);

/** The requested type, with names parsed to dimensions. */
function requestedType(name: string, { shape, dtype }: Required<TypeRequest>): TensorType {
  const op = 'inferTypes';
  if (!isDType(dtype)) {
    throw new DTypeError(`there is no such dtype for input ${name}`, {
      op,
      expected: dtypes.join(', '),
      actual: describe(dtype),
    });
  }
  try {
    const dims = shape.map((dim) => (typeof dim === 'string' ? parseDim(dim) : dim));
    if (!attr.dims.accepts(dims)) {
      throw new ArgumentError('an extent is neither an integer nor a dimension', {
        op,
        expected: attr.dims.expected,
        actual: describe(shape),
      });
    }
    checkShape(op, dims);
    return { dtype, shape: dims };
  } catch (error) {
    throw inContext(error, `input ${name}`, { op });
  }
}
