import { type Dim, isStatic } from '../../base/dim/index.js';
import { bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { type Checks, checksOf } from '../../passes/simplify/checks.js';
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
   * Checks the reports of a run, its results from `first` on.
   * @throws the same, for the call that the program comes to first. The element is found by another run.
   */
  look(results: readonly Operand[], first: number, operands: readonly NDArray[]): void {
    const told = results.slice(first);
    if (!told.some(({ storage }) => storage.host[0] !== 0)) return;
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

const noSizes: ReadonlyMap<string, Dim> = new Map();
