import type { DType, WeakKind } from '../../base/dtype.js';
import type { Dim, DimExpr } from '../../base/dim/index.js';
import { ArgumentError, InternalError } from '../../base/errors.js';
import { checkOptionNames } from '../../base/attributes/options.js';
import type { Attributes, AttributeSchema, AttributesOf } from '../../base/attributes/schema.js';
import type { InferContext, Operator } from '../../ir/operator.js';
import type { Program } from '../../ir/program.js';
import { Value } from '../../ir/program.js';
import { hostConstant, type HostValue } from '../../ir/host.js';
import { type Shape, Tensor, type TensorType } from '../../ir/types.js';
import type {
  BackwardAfter,
  Branches,
  BranchBackward,
  LoopBackward,
  LoopStep,
} from './backward.js';
import type { Batching } from './batch.js';
import type { ElementCheck, Positions } from './check.js';
import { castValue, conversionOperator, operandDTypes, withSizesAsArrays } from './convert.js';
import { checkShape } from './infer.js';
import { readCall } from './read-call.js';
import type { Known, OnSizes } from '../known/facets.js';
import type { Law } from './law.js';
import type { Lowering } from './lowering.js';
import { broadcastMeetings, type Meetings } from './meeting.js';
import type { OnnxMapping } from './onnx.js';
import { type Calls, defaultPrecision, inFloat32, type Precision } from './precision.js';

/**
 * Extension point for the front floor: augment this interface with `{ array: NDArray; host: ... }`, and every
 * operator function accepts and returns it.
 */
// eslint-disable-next-line typescript/no-empty-object-type -- filled in by declaration merging
export interface Frontend {}

/** The default array type of results, when no operand determines it. */
export type DefaultTensor = Frontend extends { array: infer A extends Tensor } ? A : Tensor;

/** An operand: an array, or plain data or a size of captured code, which are converted to arrays. */
export type Input<T extends Tensor = DefaultTensor> = T | HostValue | DimExpr;

/** Operands and attributes of a call, parsed from the user's arguments. */
export interface Call<A = Attributes> {
  readonly inputs: readonly Input<Tensor>[];
  readonly attributes: A;
  readonly regions?: readonly Program[];
}

export interface GradientContext<T extends Tensor, A> {
  readonly inputs: readonly T[];
  readonly outputs: readonly T[];
  /** The gradients of the outputs; null where there is none. Never all null. */
  readonly grads: readonly (T | null)[];
  readonly attributes: A;
  /** Inputs that need a gradient; the entries of others are ignored. */
  readonly needs: readonly boolean[];
  readonly regions: readonly Program[];
  /** The backward program of a region that has run on these inputs; `flows` marks outputs with gradients. */
  backwardAfter(region: Program, wrt: readonly boolean[], flows: readonly boolean[]): BackwardAfter;
  /** The backward loop; null when no gradient reaches an input that needs one. */
  backwardOfLoop(step: LoopStep): LoopBackward | null;
  /** The backward branches; null when no gradient reaches an input that needs one. */
  backwardOfBranches(branches: Branches): BranchBackward | null;
}

/** The gradients of the inputs in order, each of its input's type; null for none. */
export type Gradient<A = Attributes> = <T extends Tensor>(
  context: GradientContext<T, A>,
) => readonly (T | null)[];

/**
 * Conversion of operands before inference. `promote`: all to their common dtype. `float`: the same, and
 * integers to float32. `keep`: unchanged; plain data takes the dtype of the arrays beside it. A function
 * decides for each operand.
 */
export type Conversion =
  | 'promote'
  | 'float'
  | 'keep'
  | ((operands: readonly (DType | WeakKind)[], attributes: Attributes) => readonly DType[]);

/** A sample array: static or named extents (a test binds names to sizes, 0 and 1 among them). */
export interface SampleArray {
  readonly kind: 'array';
  readonly shape: readonly (number | string)[];
  /** Default float32. Tests of gradients use float64. */
  readonly dtype: DType;
  /** Bounds of uniformly drawn values; inclusive for integers. */
  readonly low: number;
  readonly high: number;
  /** Fixed values instead of random ones, for indices and the like. */
  readonly values?: readonly number[];
}

/** A sample call of an operator, as users write it; `SampleArray`s stand for arrays. */
export interface Sample {
  readonly args: readonly unknown[];
  /** The least size of named extents. Default 0. */
  readonly least?: Readonly<Record<string, number>>;
  /** False where a kink or tie makes finite differences meaningless; a comment says which. */
  readonly differentiable?: boolean;
}

/** A sample array for declarations: `tensor(['n', 3], { low: 0.1 })`. */
export function tensor(
  shape: readonly (number | string)[],
  options: Partial<Omit<SampleArray, 'kind' | 'shape'>> = {},
): SampleArray {
  return { kind: 'array', shape, dtype: 'float32', low: -2, high: 2, ...options };
}

/**
 * The dimensions that `infer` requested by `fresh`, in that order, as the elements of int32 or int64 arrays
 * one after the other. Written in operators: a program runs this first, binds the sizes, and then runs the
 * operator's lowering with static sizes and planned memory.
 */
export type Measure<A = Attributes> = <T extends Tensor>(context: {
  readonly inputs: readonly T[];
  readonly attributes: A;
}) => readonly T[];

/**
 * Rewrite of a transposition of the last two axes of the only result: the transposed result from other
 * operands, with fewer reordering calls than the result and a transposition take; null where there is none.
 * Sums may round differently.
 */
export type Turned = (inputs: readonly Value[]) => Value | null;

/** A call that is to be expanded into other operators. */
export interface Expansion<T extends Tensor, A> {
  readonly inputs: readonly T[];
  readonly attributes: A;
}

/** Expansion of the call in programs, captured ones included: the operator only saves work in eager calls. */
export type InPrograms<A = Attributes> = <T extends Tensor>(call: Expansion<T, A>) => readonly T[];

export type Family =
  | 'elementwise'
  | 'reduction'
  | 'movement'
  | 'indexing'
  | 'contraction'
  | 'normalization'
  | 'random'
  | 'control'
  | 'dynamic'
  | 'structure';

/** The complete declaration of one operator. A facet that is absent does not apply, or has its default. */
export interface Declaration<S extends AttributeSchema = AttributeSchema> extends Operator {
  readonly name: string;
  readonly family: Family;
  readonly attributes: S;
  /** `one` result is returned as itself, `list` as an array, names as a record. Default `one`. */
  readonly results: 'one' | 'list' | readonly string[];
  /** True when arrays have it as a method, with the array as first argument. Default true. */
  readonly method: boolean;
  /** Default `promote`. */
  readonly operands: Conversion;
  infer(context: InferContext): readonly TensorType[];
  readonly check?: ElementCheck<AttributesOf<S>>;
  /** Absent when no size of a result depends on the data. */
  readonly measure?: Measure<AttributesOf<S>>;
  /** True when the results depend on the operands' types only, not on their elements. */
  readonly readsTypesOnly?: boolean;
  readonly gradient: 'none' | Gradient<AttributesOf<S>>;
  /** True when the gradient is a user's function, whose errors stay unchanged. */
  readonly isUsersGradient?: boolean;
  readonly lowering: Lowering<AttributesOf<S>>;
  /** Default: derived from the lowering, see `OnnxMapping`. */
  readonly onnx?: OnnxMapping<AttributesOf<S>>;
  /** Default: the rules of broadcasting operators and views; none for others. */
  readonly batch?: Batching<AttributesOf<S>>;
  readonly turned?: Turned;
  /** Absent when programs hold its calls. */
  readonly inPrograms?: InPrograms<AttributesOf<S>>;
  /**
   * Axes of the operands whose sizes depend on each other. Default: the axes of elementwise operators broadcast; none
   * for others.
   */
  readonly meetings?: Meetings<AttributesOf<S>>;
  /** Default: derived from point, view and reduction lowerings. */
  readonly known?: Known<AttributesOf<S>>;
  readonly onSizes?: OnSizes;
  /** Facet of an operator whose only element is a size. */
  readonly size?: (attributes: AttributesOf<S>) => Dim;
  readonly positions?: Positions<AttributesOf<S>>;
  /** Default `float32` for elementwise operators, reductions and normalizations, `own` for others. */
  readonly precision: Precision;
  /** Rewrite laws of calls with one result, most useful first. */
  readonly simplify?: readonly Law<AttributesOf<S>>[];
  /** The law by which a view of a result becomes another call; it gets the operator's own call, and the type of the view. */
  readonly viewed?: Law<AttributesOf<S>>;
  readonly samples: readonly Sample[];
}

type AnyFunction = (...args: never[]) => unknown;

/** Position and names of the options argument. */
export interface OptionNames {
  readonly at: number;
  readonly names: readonly string[];
}

type Required = 'name' | 'family' | 'attributes' | 'gradient' | 'lowering' | 'samples';

/** Fields that an operator's file declares; the rest of `Declaration` has defaults. */
export interface Spec<F extends AnyFunction, S extends AttributeSchema>
  extends Pick<Declaration<S>, Required>, Partial<Omit<Declaration<S>, Required | 'infer'>> {
  /** Parses the user's arguments into operands and attributes; applies defaults, refuses invalid ones. */
  call(...args: Parameters<F>): Call<AttributesOf<S>>;
  /** Index of the options argument, and the option names. Default: no options. */
  readonly options?: OptionNames;
  infer(context: InferContext & { readonly attributes: AttributesOf<S> }): readonly TensorType[];
}

/** An operator function with its declaration. */
export type OperatorFunction<F extends AnyFunction> = OnPlainData<F> &
  F & { readonly declaration: Declaration };

/**
 * Signature for calls on plain data alone. It stands first, since inference would take a number for a
 * candidate of the operator's own type parameter, and fail.
 */
type OnPlainData<F extends AnyFunction> = (
  ...args: PlainData<Parameters<F>>
) => Defaulted<ReturnType<F>>;

type PlainData<X> = X extends Tensor
  ? never
  : X extends HostValue | AnyFunction
    ? X
    : X extends object
      ? { [K in keyof X]: PlainData<X[K]> }
      : X;

type Defaulted<X> = X extends Tensor
  ? DefaultTensor
  : X extends object
    ? { [K in keyof X]: Defaulted<X[K]> }
    : X;

/** Runs a call on arrays of the front floor, or on plain data. */
export type Invoke = (declaration: Declaration, call: Call) => readonly Tensor[];

let invokeFront: Invoke = (declaration) => {
  throw new InternalError(
    `${declaration.name} was called on arrays before the front floor was loaded`,
  );
};

/** Installs the front floor's dispatch. Returns the previous one. */
export function installFrontend(invoke: Invoke): Invoke {
  const previous = invokeFront;
  invokeFront = invoke;
  return previous;
}

/**
 * Declares an operator and creates its public function. Called on program values it appends to their program;
 * called on arrays it goes to the front floor's dispatch.
 */
export function operator<F extends AnyFunction, S extends AttributeSchema>(
  spec: Spec<F, S>,
): OperatorFunction<F> {
  const declaration = {
    results: 'one',
    method: true,
    operands: 'promote',
    ...(isElementwise(spec) && { meetings: (shapes: readonly Shape[]) => broadcastMeetings(spec.name, shapes) }), // prettier-ignore
    ...spec,
    precision: spec.precision ?? defaultPrecision(spec.family, spec.lowering),
    infer: (context: Parameters<typeof spec.infer>[0]) => {
      const types = spec.infer(context);
      // Attributes may hold any numbers; conditions on symbols are stated by the operators themselves.
      for (let i = 0; i < types.length; i++) checkShape(spec.name, types[i].shape);
      return types;
    },
  } as unknown as Declaration;
  if (declaration.precision === 'float32')
    Object.assign(declaration, inFloat32(declaration, callsOf(declaration)));
  const { results } = declaration;
  const { options } = spec;
  const call = (...args: Parameters<F>): unknown => {
    if (options !== undefined && args[options.at] !== undefined) {
      checkOptionNames(spec.name, args[options.at], options.names);
    }
    const meant = readCall(spec.name, spec.call, args);
    const symbolic = meant.inputs.find((input) => input instanceof Value);
    const outputs =
      symbolic instanceof Value
        ? invokeSymbolic(declaration, meant, symbolic.program)
        : invokeFront(declaration, meant);
    if (results === 'one') return outputs[0];
    // The caller's own: what is recorded keeps its list.
    if (results === 'list') return [...outputs];
    return Object.fromEntries(results.map((name, i) => [name, outputs[i]]));
  };
  Object.defineProperty(call, 'name', { value: declaration.name });
  return Object.assign(call, { declaration }) as unknown as OperatorFunction<F>;
}

function isElementwise({ lowering }: { readonly lowering: Pick<Lowering, 'kind'> }): boolean {
  return lowering.kind === 'point' && 'elementwise' in lowering && lowering.elementwise === true;
}

function invokeSymbolic(declaration: Declaration, given: Call, program: Program): readonly Value[] {
  const call = withSizesAsArrays(declaration, given);
  const dtypes = operandDTypes(declaration, call);
  const inputs = call.inputs.map((input, i) => {
    if (!(input instanceof Tensor))
      return program.constant(hostConstant(input, dtypes[i], declaration.name));
    if (!(input instanceof Value)) {
      throw new ArgumentError('an array was mixed with values of a program', {
        op: declaration.name,
        advice: 'make the array an input of the program',
      });
    }
    return input.type.dtype === dtypes[i] ? input : castValue(input, dtypes[i]);
  });
  const { attributes } = call;
  if (declaration.inPrograms !== undefined) return declaration.inPrograms({ inputs, attributes });
  return program.append(
    declaration,
    inputs,
    attributes,
    call.regions === undefined ? {} : { regions: call.regions },
  );
}

/** Calls of an operator, with conversions for it, on any kind of tensor. */
function callsOf(declaration: Declaration): Calls {
  return {
    convert<T extends Tensor>(x: T, dtype: DType): T {
      if (x.type.dtype === dtype) return x;
      const cast: Call = { inputs: [x], attributes: { dtype } };
      const made = x instanceof Value ? castValue(x, dtype) : invokeFront(conversionOperator(), cast)[0]; // prettier-ignore
      return made as Tensor as T;
    },
    again<T extends Tensor>(inputs: readonly T[], attributes: Attributes): readonly T[] {
      const call: Call = { inputs, attributes };
      const symbolic = inputs.find((input) => input instanceof Value);
      const made =
        symbolic === undefined
          ? invokeFront(declaration, call)
          : invokeSymbolic(declaration, call, symbolic.program);
      return made as readonly Tensor[] as readonly T[];
    },
  };
}
