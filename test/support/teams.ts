import assert from 'node:assert/strict';
import { compileKernel } from '../../src/loop/interpret/statements.js';
import { memoryOf, type MemoryViews } from '../../src/loop/interpret/frame.js';
import type { Expr, Kernel, Module, Stmt, Var } from '../../src/loop/language/nodes.js';
import { mainName } from '../../src/passes/lower/main/main.js';

/*
 * Threads one after the other: each runs `main` up to its next barrier, then the next one does. In an order
 * of their own choice, in which whatever two threads do between two barriers is as far apart as it can be:
 * a barrier that is missing shows in the results.
 */

/** Runs `main` of a module as a team, the threads between two barriers in the given order. */
export function runTeam(
  module: Module,
  bytes: ArrayBufferLike,
  table: number,
  order: readonly number[],
): void {
  const main = module.kernels.find(({ name }) => name === mainName)!;
  const memory = memoryOf(bytes);
  const threads = order.map((thread) =>
    new Thread(main, memory, [table, 0, 0, 0, thread, order.length]).run(),
  );
  for (;;) {
    const met = threads.map((thread) => thread.next());
    const done = met.filter((step) => step.done === true).length;
    assert.ok(done === 0 || done === met.length, 'all threads meet at the same barriers');
    if (done > 0) return;
    const places = new Set(met.map(({ value }) => value));
    assert.equal(places.size, 1, 'all threads meet at one barrier');
  }
}

class Thread {
  readonly #main: Kernel;
  readonly #memory: MemoryViews;
  readonly #values: Map<Expr, number> = new Map();
  readonly #bases: Map<object, number> = new Map();

  constructor(main: Kernel, memory: MemoryViews, args: readonly number[]) {
    this.#main = main;
    this.#memory = memory;
    main.params.forEach((param, i) => {
      if (param.kind === 'buffer') this.#bases.set(param, args[i] ?? 0);
      else this.#values.set(param, args[i]);
    });
  }

  *run(): Generator<Stmt> {
    yield* this.#statement(this.#main.body);
  }

  *#statement(stmt: Stmt): Generator<Stmt> {
    switch (stmt.kind) {
      case 'block':
        for (const inner of stmt.body) yield* this.#statement(inner);
        break;
      case 'barrier':
        yield stmt;
        break;
      case 'call': {
        const args = stmt.args.map((arg) => this.#value(arg));
        compileKernel(stmt.kernel)(this.#memory, args);
        break;
      }
      case 'declare':
      case 'assign':
        this.#values.set(stmt.variable, this.#value(stmt.value));
        break;
      case 'if':
        if (this.#value(stmt.condition) !== 0) yield* this.#statement(stmt.consequent);
        else if (stmt.alternate !== null) yield* this.#statement(stmt.alternate);
        break;
      case 'while':
        while (this.#value(stmt.condition) !== 0) yield* this.#statement(stmt.body);
        break;
      case 'for': {
        const end = this.#value(stmt.end);
        for (let i = this.#value(stmt.begin); i < end; i += stmt.step) {
          this.#values.set(stmt.variable, i);
          yield* this.#statement(stmt.body);
        }
        break;
      }
      case 'store':
        assert.fail('main stores nothing itself');
    }
  }

  #value(expr: Expr): number {
    switch (expr.kind) {
      case 'const':
        return Number(expr.value);
      case 'var':
        return this.#variable(expr);
      case 'load': {
        const base = this.#bases.get(expr.buffer)!;
        const index = this.#value(expr.index);
        return expr.buffer.storage === 'u8'
          ? (this.#memory.u8[base + index] as number)
          : (this.#memory.i32[base / 4 + index] as number);
      }
      case 'binary':
        return operations[expr.op]!(this.#value(expr.a), this.#value(expr.b));
      default:
        return assert.fail(`main computes with ${expr.kind}`);
    }
  }

  #variable(variable: Var): number {
    const value = this.#values.get(variable);
    assert.ok(value !== undefined, `${variable.name} has a value`);
    return value;
  }
}

const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => (a + b) | 0,
  sub: (a, b) => (a - b) | 0,
  mul: (a, b) => Math.imul(a, b),
  div: (a, b) => Math.trunc(a / b),
  rem: (a, b) => a % b,
  min: Math.min,
  max: Math.max,
  and: (a, b) => a & b,
  shrU: (a, b) => a >>> b,
  eq: (a, b) => Number(a === b),
  ne: (a, b) => Number(a !== b),
  lt: (a, b) => Number(a < b),
  gt: (a, b) => Number(a > b),
};
