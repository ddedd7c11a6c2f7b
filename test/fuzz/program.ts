import type { DType } from '../../src/base/dtype.js';

/*
 * A program is plain data: it can be printed, replayed from its seed, and cut down to the few steps that
 * matter. `run.ts` gives it its meaning.
 */

/** An extent that every call may choose anew. */
export type SizeName = 'n' | 'm';
export type Extent = number | SizeName;
/** The sizes of one call. */
export type Sizes = Readonly<Record<SizeName, number>>;

/** Where an input comes from: an argument, an array from outside, or one that the program assigns to. */
export type Role = 'argument' | 'captured' | 'state';

export interface Input {
  readonly id: number;
  readonly role: Role;
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  /** Elements are drawn from here; integers include both ends. */
  readonly low: number;
  readonly high: number;
  /** Given elements, repeated as needed, for what must be sorted or is the result of shrinking. */
  readonly values?: readonly number[];
}

/** A value of the program as an argument. */
export interface Ref {
  readonly ref: number;
}

export type Argument =
  | Ref
  | number
  | string
  | boolean
  | null
  | undefined
  | readonly Argument[]
  | { readonly [key: string]: Argument };

/** One call: of an operator of the registry, or of an action of `calls.ts`. */
export interface Step {
  readonly op: string;
  readonly args: readonly Argument[];
  /** The values that its results become. */
  readonly results: readonly number[];
}

export interface FuzzProgram {
  readonly seed: number;
  /** The sizes of one call after another; more than one where every step takes any size. */
  readonly sizes: readonly Sizes[];
  readonly inputs: readonly Input[];
  readonly steps: readonly Step[];
  readonly outputs: readonly number[];
  /** The inputs whose gradients are compared. */
  readonly wrt: readonly number[];
  readonly training: boolean;
  /** Whether arguments and results come in nested lists and objects. */
  readonly nested: boolean;
}

export function isRef(argument: unknown): argument is Ref {
  return typeof argument === 'object' && argument !== null && 'ref' in argument;
}

/** The arguments with every reference replaced. */
export function mapRefs(argument: Argument, map: (id: number) => unknown): unknown {
  if (isRef(argument)) return map(argument.ref);
  if (Array.isArray(argument)) return argument.map((entry: Argument) => mapRefs(entry, map));
  if (typeof argument !== 'object' || argument === null) return argument;
  return Object.fromEntries(
    Object.entries(argument).map(([key, entry]) => [key, mapRefs(entry as Argument, map)]),
  );
}

/** The values that a step reads. */
export function refsOf({ args }: Step): number[] {
  const found: number[] = [];
  mapRefs(args, (id) => found.push(id));
  return found;
}

/** The program without what no output, and no call for its own sake, needs. */
export function withoutDeadSteps(program: FuzzProgram): FuzzProgram {
  const needed = new Set(program.outputs);
  const steps: Step[] = [];
  for (const step of program.steps.toReversed()) {
    // Calls without results are there for what they do: assign, or be refused.
    if (step.results.length > 0 && !step.results.some((id) => needed.has(id))) continue;
    steps.push(step);
    for (const id of refsOf(step)) needed.add(id);
  }
  return {
    ...program,
    steps: steps.reverse(),
    inputs: program.inputs.filter(({ id }) => needed.has(id)),
    wrt: program.wrt.filter((id) => needed.has(id)),
  };
}

/** The program without its assignments, for captures that refuse them. */
export function withoutAssignments(program: FuzzProgram): FuzzProgram {
  return { ...program, steps: program.steps.filter(({ op }) => op !== 'assign') };
}

export function shapeAt(shape: readonly Extent[], sizes: Sizes): number[] {
  return shape.map((extent) => (typeof extent === 'number' ? extent : sizes[extent]));
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  if ('name' in value && value.name instanceof Name) return value.name.text;
  return `{ ${Object.entries(value).map(([key, entry]) => `${key}: ${literal(entry)}`).join(', ')} }`; // prettier-ignore
}

class Name {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function inputText({ id, role, dtype, shape, low, high, values }: Input): string {
  const elements =
    values === undefined ? `drawn from ${low} to ${high}` : `elements ${literal(values)}`;
  return `const v${id} = ${role} ${dtype}[${shape.join(', ')}], ${elements}`;
}

/** The program as text, one call a line. */
export function printProgram(program: FuzzProgram): string {
  const { seed, sizes, inputs, steps, outputs, wrt, training, nested } = program;
  const facts = [
    `seed ${seed}`,
    ...sizes.map(({ n, m }) => `n = ${n}, m = ${m}`),
    ...(training ? ['training'] : []),
    ...(nested ? ['nested'] : []),
  ];
  const lines = steps.map(({ op, args, results }) => {
    const shown = args.map((argument) =>
      literal(mapRefs(argument, (id) => ({ name: new Name(`v${id}`) }))),
    );
    const names = results.map((id) => `v${id}`);
    const target =
      names.length === 0 ? '' : `const ${names.length === 1 ? names[0] : `[${names.join(', ')}]`} = `; // prettier-ignore
    return `${target}${op}(${shown.join(', ')});`;
  });
  return [
    `// ${facts.join('; ')}`,
    ...inputs.map(inputText),
    ...lines,
    `return [${outputs.map((id) => `v${id}`).join(', ')}];`,
    ...(wrt.length > 0 ? [`// gradients of ${wrt.map((id) => `v${id}`).join(', ')}`] : []),
  ].join('\n');
}
