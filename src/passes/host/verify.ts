import { type Dim, elementCount, sameDim, substituteDim, symbolsOf } from '../../base/dim/index.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { GraphError, KaonError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import { bindProgram, givenSizes } from '../../ir/bind.js';
import { type Program, typeToString } from '../../ir/program.js';
import { dimsOfWords, type MessageTemplate, type Refusal } from '../../ir/requirement.js';
import type { Handle, HostResult, HostRoutine, HostStatement, HostStatementOf, NameBound, StackedArray, Stretch } from './statements.js'; // prettier-ignore
import { statementLines } from './text.js';

/**
 * Checks the host program of a program:
 *
 * 1. dimensions speak of names that have a value by then, whichever way a run took;
 * 2. arrays are there where they are read or written, also in every iteration; nothing is made while it is there;
 * 3. what it calls gets arrays and sizes that tell all of its dimensions, and results have a place of their type.
 *
 * @throws GraphError for the first statement of which one does not hold.
 */
export function verifyRoutine(routine: HostRoutine): void {
  const { program, inputs, constants, body, outputs, names } = routine;
  const start = new Path(
    new Set(givenSizes(program).keys()),
    new Set([...inputs, ...constants.keys()]),
    names,
  );
  start.walk(body);
  for (const output of outputs) start.read(output);
}

/** Statements without others inside. */
type SimpleStatement = Exclude<HostStatement, HostStatementOf<'repeat' | 'choose'>>;

/** Names that have a value, and arrays that are there, at one place of a routine. */
class Path {
  readonly #names: Set<string>;
  readonly #arrays: Set<Handle>;
  readonly #taken: ReadonlySet<string>;

  /** @param taken All names of the routine. */
  constructor(names: Set<string>, arrays: Set<Handle>, taken: ReadonlySet<string>) {
    this.#names = names;
    this.#arrays = arrays;
    this.#taken = taken;
  }

  walk(body: readonly HostStatement[]): void {
    for (const statement of body) {
      if (statement.kind === 'repeat') this.#repeat(statement);
      else if (statement.kind === 'choose') this.#choose(statement);
      else this.#simple(statement);
    }
  }

  /** Elements that are there, and whose place and number are known. */
  read({ of, shape, offset = 0 }: Stretch): void {
    this.#needArray(of);
    this.#speak(...shape, offset);
  }

  #simple(statement: SimpleStatement): void {
    try {
      this.#check(statement);
    } catch (error) {
      if (!(error instanceof KaonError)) throw error;
      const { problem, expected, actual } = error;
      const [line] = statementLines([statement]);
      throw new GraphError(`${problem}, in: ${line}`, {
        op: 'verify',
        expected,
        actual,
        cause: error,
      });
    }
  }

  #check(statement: SimpleStatement): void {
    switch (statement.kind) {
      case 'set':
        this.#speak(statement.value);
        return this.#define(statement.name, statement.bound);
      case 'assign':
        this.#needName(statement.name);
        return this.#speak(statement.value);
      case 'load':
        this.read(statement.from);
        return this.#define(statement.name, statement.bound);
      case 'store':
        this.read(statement.to);
        return this.#speak(statement.value);
      case 'require':
        this.#speak(statement.test.dim);
        return this.#speakIn(statement.refusal);
      case 'leave':
        return this.#speak(statement.when.dim);
      case 'allocate':
        this.#speak(statement.rows, ...statement.stacks.flatMap(({ row }) => row));
        return statement.stacks.forEach(({ of }) => this.#make(of));
      case 'grow':
        this.#needName(statement.rows);
        this.#speak(statement.needed, statement.to, statement.kept);
        return this.#needStacks(statement.stacks);
      case 'trim':
        this.#speak(statement.rows);
        return this.#needStacks(statement.stacks);
      case 'copy':
        return this.#copy(statement.to, statement.from);
      case 'clear':
        return this.read(statement.at);
      case 'check':
        return this.#checkElements(statement);
      case 'run':
        return this.#run(statement);
      case 'call':
        return this.#call(statement);
      case 'drop':
        for (const handle of statement.handles) {
          this.#needArray(handle);
          this.#arrays.delete(handle);
        }
        return;
      default:
        return unreachable(statement);
    }
  }

  /** The body may run once or more often; what it makes is not known to be there behind it. */
  #repeat({ body }: HostStatementOf<'repeat'>): void {
    const inside = this.#fork();
    inside.walk(body);
    for (const handle of this.#arrays) inside.#needArray(handle);
  }

  #choose({ when, consequent, alternate }: HostStatementOf<'choose'>): void {
    this.#speak(when.dim);
    const [first, second] = [consequent, alternate].map((body) => {
      const path = this.#fork();
      path.walk(body);
      return path;
    });
    for (const name of first.#names) if (second.#names.has(name)) this.#names.add(name);
    this.#arrays.clear();
    for (const handle of first.#arrays) if (second.#arrays.has(handle)) this.#arrays.add(handle);
  }

  #copy(to: Stretch, from: Stretch): void {
    this.read(from);
    this.read(to);
    // Checks before it have compared sizes that an iteration decided.
    const isLike = to.of.dtype === from.of.dtype && to.shape.length === from.shape.length;
    if (!isLike) fail('a copy has another type');
  }

  #checkElements({ call, types, elements }: HostStatementOf<'check'>): void {
    this.read(elements);
    this.#speak(...types.flatMap(({ shape }) => shape));
    for (const name of symbolsOfAttributes(call.op.attributes, call.attributes).keys()) {
      this.#needName(name);
    }
  }

  #run({ part: { program }, reads, sizes, gives }: HostStatementOf<'run'>): void {
    this.#enter(program, reads, sizes);
    needCount('results', program.outputs.length, gives.length);
    gives.forEach((handle, k) => {
      needDType(program.outputs[k].value, handle);
      this.#make(handle);
    });
  }

  #call({ callee: { program }, operands, sizes, results, site }: HostStatementOf<'call'>): void {
    this.#speakOf(site.where);
    const dims = this.#enter(program, operands, sizes);
    needCount('results', program.outputs.length, results.length);
    results.forEach((result, k) => this.#result(program, k, result, dims));
  }

  #result(program: Program, k: number, result: HostResult, dims: ReadonlyMap<string, Dim>): void {
    const { value } = program.outputs[k];
    const { shape } = value.type;
    const isTold = (dim: Dim): boolean => [...symbolsOf(dim)].every((name) => dims.has(name));
    if (result.kind === 'into') {
      this.read(result.to);
      needDType(value, result.to.of);
      // Sizes that data decides are compared when the callee knows them.
      if (!shape.every(isTold)) return;
      const count = elementCount(shape.map((dim) => substituteDim(dim, dims)));
      const isLike = sameDim(count, elementCount(result.to.shape));
      if (!isLike) fail(`result ${k}, ${typeToString(value.type)}, is written over another type`);
      return;
    }
    needDType(value, result.as);
    needCount(`axes of result ${k}`, shape.length, result.extents.length);
    this.#make(result.as);
    result.extents.forEach((name, axis) => {
      if (name !== null) this.#define(name);
      else if (!isTold(shape[axis])) fail(`axis ${axis} of result ${k} has a size that nothing tells`); // prettier-ignore
    });
  }

  /** Dimensions of a program that is given these arrays and sizes. */
  #enter(
    program: Program,
    operands: readonly Stretch[],
    sizes: readonly Dim[],
  ): ReadonlyMap<string, Dim> {
    operands.forEach((operand) => this.read(operand));
    this.#speak(...sizes);
    const types = operands.map(({ of: { dtype }, shape }) => ({ dtype, shape }));
    return bindProgram<Dim>(program, types, sizes);
  }

  #fork(): Path {
    return new Path(new Set(this.#names), new Set(this.#arrays), this.#taken);
  }

  #define(name: string, bound?: NameBound): void {
    if (bound !== undefined && bound.most !== null) this.#speak(bound.most);
    if (this.#names.has(name)) fail(`the name ${name} has a value already`);
    if (!this.#taken.has(name)) fail(`the name ${name} is not among those of the routine`);
    this.#names.add(name);
  }

  #make(handle: Handle): void {
    if (this.#arrays.has(handle)) fail(`array %${handle.id} is there already`);
    this.#arrays.add(handle);
  }

  #needStacks(stacks: readonly StackedArray[]): void {
    for (const { of, row } of stacks) {
      this.#needArray(of);
      this.#speak(...row);
    }
  }

  #needArray(handle: Handle): void {
    if (!this.#arrays.has(handle)) fail(`array %${handle.id} is not there`);
  }

  #needName(name: string): void {
    if (!this.#names.has(name)) fail(`the size ${name} has no value`);
  }

  #speakIn({ problem, expected, actual }: Refusal): void {
    for (const words of [problem, expected, actual]) this.#speakOf(words);
  }

  #speakOf(words: MessageTemplate): void {
    this.#speak(...dimsOfWords(words));
  }

  #speak(...dims: readonly Dim[]): void {
    for (const dim of dims) for (const name of symbolsOf(dim)) this.#needName(name);
  }
}

function needCount(what: string, expected: number, actual: number): void {
  if (expected !== actual) fail(`there are ${actual} ${what}, not ${expected}`);
}

function needDType({ type }: { readonly type: { readonly dtype: string } }, handle: Handle): void {
  if (type.dtype !== handle.dtype) fail(`array %${handle.id} has the dtype ${handle.dtype}, not ${type.dtype}`); // prettier-ignore
}

function fail(problem: string): never {
  throw new GraphError(problem, { op: 'verify' });
}
