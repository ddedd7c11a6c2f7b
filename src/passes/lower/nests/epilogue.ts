import type { Program, Value } from '../../../ir/program.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { Access, Sink } from '../../../ops/declare/lowering.js';
import type { Group } from '../../groups/group.js';
import { settle } from '../../../ops/elements.js';
import type { KernelScope } from './scope.js';

/** Continuation of a group's anchors: their results are stored, continued, or both. */
export class Epilogue {
  readonly #program: Program;
  readonly #group: Group;
  readonly #scope: KernelScope;

  constructor(program: Program, group: Group, scope: KernelScope) {
    this.#program = program;
    this.#group = group;
    this.#scope = scope;
  }

  /** The results of the group over the domain of its anchors' results. */
  get written(): readonly Value[] {
    return this.#group.writes.filter((value) => !this.#group.beside.includes(value));
  }

  /**
   * Sink of an anchor's result. Without a continuation it is the memory of the result; only an anchor with
   * one result has a continuation.
   */
  sink(result: Value): Sink {
    if (this.#program.results(result.node).length > 1) return this.#scope.sink(result);
    const { written } = this;
    if (written.length === 1 && written[0] === result) return this.#scope.sink(result);
    const { dtype, shape } = result.type;
    return {
      dtype,
      shape: this.#scope.shape(shape),
      store: (index, value) => this.store(new Map([[result, value]]), () => index),
      buffer: null,
    };
  }

  /** Stores all written results, given the elements of some results at one index. */
  store(results: ReadonlyMap<Value, Expr>, indexFor: (value: Value) => readonly Expr[]): Stmt {
    const locals: Stmt[] = [];
    const given = new Map<Value, Access>();
    for (const [result, value] of results) {
      const { dtype, shape } = result.type;
      const { scalar, lanes } = value.type;
      const local = e.variable(`result${result.node}_${result.port}`, scalar, lanes);
      locals.push(e.declare(local, settle(dtype, value)));
      given.set(result, {
        dtype,
        shape: this.#scope.shape(shape),
        at: () => local,
        buffer: null,
      });
    }
    const scope = this.#scope.giving(given);
    const elements = this.written.map((value) => {
      const index = indexFor(value);
      const element = given.get(value)?.at(index) ?? scope.compute(value)(index);
      const local = e.variable(`element${value.node}`, element.type.scalar, element.type.lanes);
      locals.push(e.declare(local, element));
      return () => this.#scope.sink(value).store(index, local);
    });
    return e.block(...locals, ...elements.map((store) => store()));
  }
}
