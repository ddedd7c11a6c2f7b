import type { Program, Value } from '../../ir/program.js';
import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import type { Access, Sink } from '../../ops/lowering.js';
import type { Group } from '../fuse.js';
import { dependents } from '../fuseMerge.js';
import { settle } from './elements.js';
import type { Scope } from './scope.js';

/** What becomes of the results of a group's anchors: they are stored, continued, or both. */
export class Epilogue {
  readonly #program: Program;
  readonly #group: Group;
  readonly #scope: Scope;

  constructor(program: Program, group: Group, scope: Scope) {
    this.#program = program;
    this.#group = group;
    this.#scope = scope;
  }

  /** The values that the group writes and that are, or follow from, some results of its anchors. */
  written(results: readonly Value[]): readonly Value[] {
    const from = new Set(results);
    const later = dependents(this.#program, this.#group.members, from);
    return this.#group.writes.filter((value) => from.has(value) || later.has(value.node));
  }

  /** Where an anchor stores a result. Without anything behind it, that is the memory of the result. */
  sink(result: Value): Sink {
    const written = this.written([result]);
    if (written.length === 1 && written[0] === result) return this.#scope.sink(result);
    const { dtype, shape } = result.type;
    return {
      dtype,
      shape: this.#scope.shape(shape),
      store: (index, value) => this.store(new Map([[result, value]]), written, () => index),
      buffer: null,
    };
  }

  /** Stores all that is written once the elements of some results are known at one index. */
  store(
    results: ReadonlyMap<Value, Expr>,
    written: readonly Value[],
    indexFor: (value: Value) => readonly Expr[],
  ): Stmt {
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
    const elements = written.map((value) => {
      const index = indexFor(value);
      const element = given.get(value)?.at(index) ?? scope.compute(value)(index);
      const local = e.variable(`element${value.node}`, element.type.scalar, element.type.lanes);
      locals.push(e.declare(local, element));
      return () => this.#scope.sink(value).store(index, local);
    });
    return e.block(...locals, ...elements.map((store) => store()));
  }
}
