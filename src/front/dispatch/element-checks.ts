import { type Dim, isStatic } from '../../base/dim/index.js';
import { KaonError } from '../../base/errors.js';
import { bindTypes } from '../../ir/bind.js';
import type { NodeId } from '../../graph/graph.js';
import { namedInputs, Program } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { Copies } from '../../passes/rewrite/copies.js';
import { type Checks, checksOf, mayCheck } from '../../passes/simplify/checks.js';
import { foreignInCapturedCode, refuseInCapturedCode } from '../../passes/host/elements.js';
import {
  earliestReport,
  firstReport,
  firstReported,
  presenceReport,
} from '../../passes/host/watch/report.js';
import { watching, type Watching } from '../../passes/host/watch/watch.js';
import { compile } from '../../runtime/compile/compile.js';
import type { Executable, Operand } from '../../runtime/execution/executable.js';
import type { NDArray } from '../core/ndarray.js';

/** Checks elements as eager calls do: before a captured program runs, or by its reports afterwards. */
export class ElementChecks {
  /**
   * Program to run: inlined, with an additional result for each call whose elements it must report. The
   * original program where there are none.
   */
  readonly program: Program;
  readonly #given: Program;
  readonly #checks: Checks | null;
  readonly #watching: Watching | null;
  /** True when no check depends on sizes. */
  readonly #isStatic: boolean;
  #probe: Executable | undefined;

  constructor(program: Program) {
    this.#given = program;
    this.#checks = checksOf(program);
    const inlined = this.#checks?.program;
    this.#watching =
      inlined === undefined
        ? null
        : watching(inlined, presenceReport, (id) => !this.#checks!.early.has(id));
    this.program = this.#watching?.program ?? program;
    this.#isStatic =
      this.#checks?.checked.every(({ operands }) =>
        operands.every(({ type }) => type.shape.every(isStatic)),
      ) ?? true;
  }

  /** True when a run reports elements, so that nothing may be written before its reports are checked. */
  get isTold(): boolean {
    return this.#watching !== null && this.#watching.watched.length > 0;
  }

  /**
   * Checks the operands of a run, before it.
   * @throws the error of eager code, with the line of the call that would have refused.
   */
  run(operands: readonly NDArray[]): void {
    if (this.#checks === null) return;
    const { program, checked, probe } = this.#checks;
    if (probe !== null) this.#probe ??= compile(probe);
    const probed = this.#probe?.run(operands) ?? [];
    const sizes = this.#isStatic ? noSizes : bindTypes<Dim>(namedInputs(program), operands);
    for (const { call, operands: values, source } of checked) {
      const { storage } = 'input' in source ? operands[source.input] : probed[source.output];
      const types = values.map(({ type }) => type);
      refuseInCapturedCode(call, storage.host, types, sizes);
    }
  }

  /**
   * Results of the program, which `run` runs, without its reports.
   * @throws as eager code does: what the run refuses, or a call whose elements it reports, whichever comes first. The
   * element is found by another run.
   */
  look<R extends Operand>(run: () => readonly R[], operands: readonly NDArray[]): readonly R[] {
    if (!this.isTold) return run();
    const own = this.#given.outputs.length;
    let results: readonly R[];
    try {
      results = run();
    } catch (error) {
      this.#lookBefore(operands);
      throw error;
    }
    if (results.slice(own).some(({ storage }) => storage.host[0] !== 0)) this.#refuse(operands);
    return results.slice(0, own);
  }

  /** Refuses an element that the program reports before it refuses anything else, if there is one. */
  #lookBefore(operands: readonly NDArray[]): void {
    const { program, early } = this.#checks!;
    const calls = [...program.calls()].filter(
      ([id, { op, regions }]) =>
        (declarationOf(op).check !== undefined && !early.has(id)) || regions.some(mayCheck),
    );
    // Of the beginnings of the program that end with such a call, those that run are shorter than those that do not.
    let [runs, fails] = [-1, calls.length];
    while (fails - runs > 1) {
      const middle = (runs + fails) >> 1;
      const beginning = new ElementChecks(upTo(program, calls[middle][0]));
      let reports: readonly Operand[];
      try {
        reports = compile(beginning.program).run(operands);
      } catch (error) {
        if (!(error instanceof KaonError)) throw error;
        fails = middle;
        continue;
      }
      beginning.look(() => reports, operands);
      runs = middle;
    }
  }

  #refuse(operands: readonly NDArray[]): never {
    const { watched } = this.#watching!;
    const { program, early } = this.#checks!;
    const asking = watching(program, firstReport, (id) => !early.has(id))!;
    const answers = compile(asking.program).run(operands).slice(this.#given.outputs.length);
    const reports = answers.map(({ storage }) => storage.host);
    const k = earliestReport(watched, reports);
    const { refused, iterations } = firstReported(watched[k], reports[k]);
    throw foreignInCapturedCode(watched[k], refused, iterations);
  }
}

/** The beginning of a program, up to a call. It gives what may be refused when it runs: whatever decides sizes. */
function upTo(program: Program, last: NodeId): Program {
  const deciding = [...program.calls()].filter(([id, { decides }]) => id <= last && decides.length > 0); // prettier-ignore
  const outputs = deciding.flatMap(([id]) => program.results(id));
  return Program.from(program, (into) => {
    const copies = new Copies(program, into, { nodes: new Set(), isApart: false });
    for (const id of program.graph.nodes()) {
      if (id <= last || program.node(id).kind === 'variable') copies.add(id, false);
    }
    into.setOutputs(outputs.map((value, k) => ({ name: `y${k}`, value: copies.early(value) })));
  });
}

const noSizes: ReadonlyMap<string, Dim> = new Map();
