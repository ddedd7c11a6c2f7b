import { addDim, boundsOf, type Dim, type DimExpr, floorDivDim, mulDim, sameDim, subDim, symbol, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { givenSizes, settleInOrder } from '../../ir/bind.js';
import type { CallNode, Value } from '../../ir/program.js';
import { type Refusal, type MessageTemplate, words } from '../../ir/requirement.js';
import { symbolsOfCall } from '../../ir/size-sources.js';
import { verifyMade } from '../../ir/verify.js';
import type { ConstantData } from '../../ir/types.js';
import type { DType } from '../../base/dtype.js';
import { controlOf } from '../lower/main/control.js';
import type { Island } from './islands/island.js';
import type { BoundaryCheck, Partition, IslandStage } from './partition.js';
import { viewed } from '../rewrite/views.js';
import { branch } from './branch.js';
import { foreachLoop } from './foreach.js';
import { Handle, type HostStatement, type HostRoutine, type Stretch } from './statements.js';
import { verifyRoutine } from './verify.js';
import { whileLoop } from './while.js';

/** The routine of a program: its stages in order. */
export function routineOf(partition: Partition): HostRoutine {
  const routine = new RoutineBuilder(partition).build();
  verifyMade('routine', () => verifyRoutine(routine));
  return routine;
}

/** Writes a routine. Loops and branches are written into it by what knows them. */
export class RoutineBuilder {
  readonly #partition: Partition;
  readonly #inputs: readonly Handle[];
  readonly #constants: Map<Handle, ConstantData> = new Map();
  /** Elements of the values that stages exchange; never for views. */
  readonly #stretches: Map<Value, Stretch> = new Map();
  /** The sizes that have a value by now. */
  readonly #known: Map<string, Dim> = new Map();
  readonly #taken: Set<string> = new Set();
  #statements: HostStatement[] = [];
  #handles = 0;

  constructor(partition: Partition) {
    this.#partition = partition;
    const { program } = partition;
    this.#inputs = program.inputs.map((input) => {
      const handle = this.handle(input.type.dtype);
      this.#stretches.set(input, { of: handle, shape: input.type.shape });
      return handle;
    });
    const given = givenSizes(program);
    for (const [name, bounds] of given) this.#known.set(name, symbol(name, bounds));
    for (const name of given.keys()) this.#taken.add(name);
    for (const [, node] of program.calls()) {
      for (const name of symbolsOfCall(node)) this.#taken.add(name);
    }
  }

  build(): HostRoutine {
    const { program, stages } = this.#partition;
    const last = this.#lastReads();
    stages.forEach((stage, number) => {
      this.#stage(stage, number);
      const handles = last[number].flatMap((value) => this.#stretches.get(value)?.of ?? []);
      this.drop(...handles);
    });
    return {
      program,
      inputs: this.#inputs,
      outputs: program.outputs.map(({ value }) => this.at(value)),
      constants: this.#constants,
      body: this.#statements,
      names: this.#taken,
    };
  }

  emit(...statements: readonly HostStatement[]): void {
    this.#statements.push(...statements);
  }

  /** Statements that are part of another. */
  inside(build: () => void): readonly HostStatement[] {
    const around = this.#statements;
    this.#statements = [];
    build();
    const made = this.#statements;
    this.#statements = around;
    return made;
  }

  handle(dtype: DType): Handle {
    return new Handle(this.#handles++, dtype);
  }

  /** A name that nothing else has. */
  name(hint: string): DimExpr {
    let name = hint;
    for (let count = 2; this.#taken.has(name); count++) name = `${hint}_${count}`;
    this.#taken.add(name);
    return symbol(name);
  }

  /** A size that is known by now. */
  size(name: string): Dim {
    return this.#known.get(name)!;
  }

  /** True if all symbols of a dimension are known by now. */
  isKnown(dim: Dim): boolean {
    return [...symbolsOf(dim)].every((name) => this.#known.has(name));
  }

  /** Elements of a value that is there by now. */
  at(value: Value): Stretch {
    const { program } = this.#partition;
    const base = viewed(program, value);
    let found = this.#stretches.get(base);
    if (found === undefined) {
      const node = program.node(base.node);
      if (node.kind !== 'constant') throw new InternalError('a value was not made by the host');
      const of = this.handle(node.data.type.dtype);
      this.#constants.set(of, node.data);
      this.#stretches.set(base, (found = { of, shape: base.type.shape }));
    }
    return { ...found, shape: value.type.shape };
  }

  /** Requires a condition of sizes. */
  require(dim: Dim, relation: '=' | '>=', refusal: Refusal): void {
    if (typeof dim === 'number' && (relation === '=' ? dim === 0 : dim >= 0)) return;
    this.emit({ kind: 'require', test: { dim, relation }, refusal });
  }

  /** The arrays are not read any more. */
  drop(...handles: readonly Handle[]): void {
    if (handles.length > 0) this.emit({ kind: 'drop', handles });
  }

  #stage(stage: IslandStage, number: number): void {
    const { checks, island, elsewhere, extents, calls, requirements } = stage;
    this.#checks(checks);
    if (island !== null) this.#run(island, `island ${number}`, false);
    this.#checks(elsewhere?.checks ?? []);
    if (elsewhere?.island) this.#run(elsewhere.island, `elsewhere ${number}`, true);
    for (const id of extents) {
      const [sizes] = this.#partition.program.operands(id);
      this.#extents(id, this.at(sizes));
    }
    for (const id of calls) this.#control(id);
    for (const { condition, ...refusal } of requirements) {
      this.require(condition.dim, condition.relation, refusal);
    }
  }

  #checks(checks: readonly BoundaryCheck[]): void {
    for (const { call, operands, elements } of checks) {
      const types = operands.map(({ type }) => type);
      this.emit({ kind: 'check', call, types, elements: this.at(elements) });
    }
  }

  #run({ program, reads, gives, revealed }: Island, name: string, isElsewhere: boolean): void {
    const sizes = program.sizes.map(({ key }) => this.size(key));
    // Before results get their places: they may be inputs.
    const given = reads.map((value) => this.at(value));
    const made = gives.map((value): Handle => {
      const of = this.handle(value.type.dtype);
      this.#stretches.set(value, { of, shape: value.type.shape });
      return of;
    });
    const all = revealed.length === 0 ? null : this.handle('int32');
    const part = { name, program, isElsewhere };
    this.emit({ kind: 'run', part, reads: given, sizes, gives: all === null ? made : [...made, all] }); // prettier-ignore
    if (all === null) return;
    let offset = 0;
    for (const id of revealed) {
      this.#extents(id, { of: all, offset, shape: [] });
      offset += this.#call(id).types[0].shape.length;
    }
    this.drop(all);
  }

  #control(id: NodeId): void {
    const call = this.#call(id);
    const operands = this.#partition.program.operands(id);
    const types = operands.map(({ type }) => type);
    const stretches = operands.map((value) => this.at(value));
    const control = controlOf(call);
    const results = ((): readonly Stretch[] => {
      switch (control?.kind) {
        case 'foreach':
          return foreachLoop(this, call, control.loop(call.attributes), stretches);
        case 'while':
          return whileLoop(this, call, control.loop(call.attributes), stretches, types);
        case 'branch':
          return branch(this, call, stretches);
        case undefined:
          throw new InternalError('the host runs loops and branches only', { op: call.op.name });
      }
    })();
    this.#bindResults(call, results);
    this.#partition.program.results(id).forEach((value, k) => {
      this.#stretches.set(value, { ...results[k], shape: value.type.shape });
    });
  }

  /** The elements of an array, from the beginning of a stretch on, become sizes. */
  #extents(id: NodeId, { of, offset = 0 }: Stretch): void {
    const call = this.#call(id);
    const { op, source, attributes } = call;
    const dtype = of.dtype === 'int64' ? 'int64' : 'int32';
    const most = attributes['most'] as readonly (Dim | null)[] | null;
    const refuse = (
      problem: string,
      expected: MessageTemplate,
      actual: MessageTemplate,
    ): Refusal => {
      return { op: op.name, problem: [problem], expected, actual, source };
    };
    call.types[0].shape.forEach((dim, axis) => {
      const from: Stretch = { of, offset: addDim(offset, axis), shape: [] };
      const isOpen = typeof dim !== 'number' && symbolsOf(dim).has(dim.key) && !this.#known.has(dim.key); // prettier-ignore
      const { min, max } = boundsOf(dim);
      const bound = most?.[axis] ?? (max === Infinity ? null : max);
      const name = isOpen ? dim.key : this.name('again').key;
      this.emit({ kind: 'load', name, from, dtype, bound: { most: bound, call } });
      // Without its bounds, which the arithmetic of sizes would take for granted.
      const size = symbol(name);
      const actual = isOpen ? words`${name} = ${size}` : words`${size}`;
      this.require(size, '>=', refuse('a size is negative', ['0 or more'], actual));
      if (!isOpen) {
        const problem = 'a size is decided twice, and not alike';
        const expected = words`${dim}`;
        const refusal = { ...refuse(problem, expected, actual), error: 'internal' } as const;
        this.require(subDim(size, dim), '=', refusal);
        return;
      }
      const outside = refuse(
        'a size that the data decides is outside its bounds',
        words`${min} <= ${name} <= ${bound ?? String(Infinity)}`,
        actual,
      );
      if (min > 0) this.require(subDim(size, min), '>=', outside);
      if (bound !== null) this.require(subDim(bound, size), '>=', outside);
      this.#known.set(name, dim);
    });
  }

  /** Learns the sizes that the results of a loop or branch have. */
  #bindResults(call: CallNode, results: readonly Stretch[]): void {
    const extents = call.types.flatMap(({ shape }, k) =>
      shape.flatMap((dim, axis) => {
        const actual = results[k].shape[axis];
        return typeof dim === 'number' || sameDim(dim, actual) ? [] : [{ k, axis, dim, actual }];
      }),
    );
    const [open] = settleInOrder(extents, this.#known, ({ k, axis, dim, actual }, form) => {
      const { unknown, scale, offset } = form;
      if (scale === 0 && unknown !== null) return false;
      if (unknown !== null) {
        const { name, bounds } = unknown;
        const value = floorDivDim(subDim(actual, offset), scale);
        const most = bounds.max === Infinity ? null : bounds.max;
        this.emit({ kind: 'set', name, value, bound: { most, call } });
        this.#known.set(name, symbol(name, bounds));
        if (scale === 1) return true;
      }
      const scaled = unknown === null ? offset : mulDim(scale, symbol(unknown.name));
      const found = unknown === null ? actual : subDim(actual, offset);
      this.require(subDim(scaled, found), '=', {
        op: call.op.name,
        problem: [`result ${k} has another size on axis ${axis}`],
        expected: words`${dim}`,
        actual: words`${actual}`,
        source: call.source,
      });
      return true;
    });
    if (open !== undefined) throw new InternalError(`nothing tells the size ${String(open.dim)}`);
  }

  #call(id: NodeId): CallNode {
    return this.#partition.program.node(id) as CallNode;
  }

  /** By stage, the values that it is the last to read. */
  #lastReads(): readonly (readonly Value[])[] {
    const { program, stages } = this.#partition;
    const lastRead = new Map<Value, number>();
    stages.forEach(({ island, elsewhere, extents, calls }, stage) => {
      const operands = [...extents, ...calls].flatMap((id) => program.operands(id));
      const reads = [island, elsewhere?.island].flatMap((each) => each?.reads ?? []);
      for (const value of [...reads, ...operands]) {
        lastRead.set(viewed(program, value), stage);
      }
    });
    for (const { value } of program.outputs) lastRead.delete(viewed(program, value));
    const last: Value[][] = stages.map(() => []);
    for (const [value, stage] of lastRead) last[stage].push(value);
    return last;
  }
}
