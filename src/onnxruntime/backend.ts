import { checkOptions, integerFrom, oneOfValues, type OptionRules, textRule, valueRule } from '../base/attributes/options.js'; // prettier-ignore
import { allocate, type DType, type HostArray } from '../base/dtype.js';
import { DeviceError, UnsupportedError } from '../base/errors.js';
import { protobufFor } from '../formats/onnx/proto/library.js';
import { type EngineCall, registerBackend } from '../front/engines/register.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import { toOnnx } from '../onnx/to-onnx.js';
import { allCalls } from '../ir/all-calls.js';
import { type CallNode, namedInputs } from '../ir/program.js';
import { declarationOf } from '../ops/declare/facets.js';
import type { EngineArray, EngineRun } from '../runtime/engine/engine.js';
import {
  type OnnxRuntime,
  type OnnxRuntimeSession,
  platformRuntime,
  runtimeIn,
} from './runtime.js';

/** Options of onnxruntime as a backend. */
export interface OnnxruntimeOptions {
  /** Name of the backend. Default `onnxruntime`. */
  readonly name?: string;
  /** The module to use. Default: `onnxruntime-node` in Node, `onnxruntime-web` elsewhere. */
  readonly runtime?: OnnxRuntime;
  /**
   * Sub-graphs that it is given: those with a product or convolution in them, since others move about as much as they
   * compute, or `all` that it can run. Default `products`.
   */
  readonly subgraphs?: 'products' | 'all';
  /** Options of sessions, such as `executionProviders`. Default: those of onnxruntime. */
  readonly session?: Readonly<Record<string, unknown>>;
  /** The version of ONNX's operators to write, 17 to 22. Default 18. */
  readonly opset?: number;
}

const rules: OptionRules<OnnxruntimeOptions> = {
  name: textRule,
  runtime: valueRule(
    'a module of onnxruntime',
    (value): value is OnnxRuntime => typeof value === 'object' && value !== null,
  ),
  session: valueRule(
    'an object with options of sessions',
    (value): value is Readonly<Record<string, unknown>> =>
      typeof value === 'object' && value !== null,
  ),
  subgraphs: oneOfValues('products', 'all'),
  opset: integerFrom(17),
};

/** Dtypes of its tensors, which have the same names there. The exporter knows which operators take which. */
const tensorTypes: ReadonlySet<DType> = new Set<DType>([
  'bool',
  'int8',
  'uint8',
  'int32',
  'int64',
  'float16',
  'float32',
  'float64',
]);

/**
 * Registers onnxruntime as a backend: sub-graphs that have a product or convolution in them, loops and branches whole,
 * are written as ONNX models, and run there; bfloat16 stays here, since its tensors lack it. Results have to be waited for. The module is loaded when
 * the first sub-graph is compiled; where it is not installed, that fails with an error that names the package.
 *
 * @throws ArgumentError for unknown options; UnsupportedError for a module that is not onnxruntime, and when
 * `@bufbuild/protobuf` is not installed.
 */
export function registerOnnxruntime(options: OnnxruntimeOptions = {}): void {
  const op = 'registerOnnxruntime';
  checkOptions<OnnxruntimeOptions>(op, options, rules);
  protobufFor(op);
  const { name = 'onnxruntime', runtime, session, opset = 18, subgraphs = 'products' } = options;
  let loaded: Promise<OnnxRuntime> | null =
    runtime === undefined ? null : Promise.resolve(runtimeIn(runtime));
  const known = new Map<string, boolean>();
  registerBackend({
    name,
    supports: (call) => {
      if (!hasTensors(call)) return false;
      const key = JSON.stringify([call.op, String(call.graph().program), call.inputs]);
      let answer = known.get(key);
      if (answer === undefined) known.set(key, (answer = isWritten(call, opset)));
      return answer;
    },
    ...(subgraphs === 'products' && {
      cost: (call: EngineCall) => (hasProduct(call) ? -1 : 0),
    }),
    compile: async (graph) => {
      const model = toOnnx(graph, { opset });
      const ort = await (loaded ??= platformRuntime());
      return sessionRun(graph, ort, await newSession(ort, model, session));
    },
  });
}

/** Settled when the sessions that are being made are there. */
let making: Promise<unknown> = Promise.resolve();

/** A session. They are made one after the other: on WebGPU onnxruntime refuses to make two at a time. */
function newSession(
  { InferenceSession }: OnnxRuntime,
  model: Uint8Array,
  options: Readonly<Record<string, unknown>> | undefined,
): Promise<OnnxRuntimeSession> {
  const make = (): Promise<OnnxRuntimeSession> => InferenceSession.create(model, options);
  const made = making.then(make);
  making = made.catch(() => {}); // whoever asked for it is told
  return made;
}

/** Calls inside of a loop or branch. */
function callsIn(call: EngineCall): readonly CallNode[] {
  return call.bodies === 0 ? [] : allCalls(call.graph().program);
}

function hasProduct(call: EngineCall): boolean {
  const families = callsIn(call).map(({ op }) => declarationOf(op).family);
  return [call.family, ...families].includes('contraction');
}

function hasTensors(call: EngineCall): boolean {
  const inside = callsIn(call).flatMap(({ types }) => types);
  return [...call.inputs, ...call.outputs, ...inside].every(({ dtype }) => tensorTypes.has(dtype));
}

/** True for a call that the opset can express in dtypes that onnxruntime has. */
function isWritten(call: EngineCall, opset: number): boolean {
  try {
    toOnnx(call.graph(), { opset, isForOnnxruntime: true });
    return true;
  } catch (error) {
    if (error instanceof UnsupportedError) return false;
    throw error;
  }
}

function sessionRun(
  { program }: StaticGraph,
  { Tensor }: OnnxRuntime,
  session: OnnxRuntimeSession,
): EngineRun {
  const names = namedInputs(program).map(({ name }) => name);
  return async (inputs) => {
    const feeds = names.map((name, i) => {
      const { dtype, shape, data } = inputs[i];
      return [name, new Tensor(dtype, data, shape)] as const;
    });
    const results = await session.run(Object.fromEntries(feeds));
    return program.outputs.map(({ name, value }): EngineArray => {
      const { type, dims, data } = results[name];
      const { dtype } = value.type;
      const own = elementsOf(dtype, data);
      if (dtype === type && own !== null) return { dtype, shape: dims, data: own };
      throw new DeviceError(`output ${name} has another type than its graph`, {
        op: 'onnxruntime',
        expected: dtype,
        actual: type,
      });
    });
  };
}

/** Elements of a tensor; null for those of another dtype. Where the platform has an array of float16, they are in one. */
function elementsOf(dtype: DType, data: unknown): HostArray | null {
  const { constructor } = allocate(dtype, 0);
  if (!ArrayBuffer.isView(data)) return null;
  if (data.constructor === constructor) return data as HostArray;
  const isHalf = dtype === 'float16' && data.constructor.name === 'Float16Array';
  return isHalf ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) : null;
}
