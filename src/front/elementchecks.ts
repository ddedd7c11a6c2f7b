import { type Dim, isStatic } from '../base/dim.js';
import type { HostArray } from '../base/dtype.js';
import { inContext } from '../base/errors.js';
import { bindTypes, substituteType } from '../ir/bind.js';
import { namedInputs, type Program } from '../ir/program.js';
import { type Checks, checksOf } from '../passes/checks.js';
import { declarationOf } from '../ops/facets.js';
import { compile } from '../runtime/compile.js';
import type { Executable } from '../runtime/executable.js';
import type { NDArray } from './ndarray.js';

/** Checks elements as eager calls do, before a captured program runs and anything is written. */
export class ElementChecks {
  readonly #checks: Checks | null;
  /** Whether no size has to be known for a check. */
  readonly #isStatic: boolean;
  #probe: Executable | undefined;

  constructor(program: Program) {
    this.#checks = checksOf(program);
    this.#isStatic =
      this.#checks?.checked.every(({ operands }) =>
        operands.every(({ type }) => type.shape.every(isStatic)),
      ) ?? true;
  }

  /**
   * Looks at the operands of a run.
   * @throws what eager code throws, with the line of the call that would have refused.
   */
  run(operands: readonly NDArray[]): void {
    if (this.#checks === null) return;
    const { program, checked, probe } = this.#checks;
    if (probe !== null) this.#probe ??= compile(probe);
    const probed = this.#probe?.run(operands) ?? [];
    const sizes = this.#isStatic ? null : bindTypes<Dim>(namedInputs(program), operands);
    for (const { call, operands: values, source } of checked) {
      const { storage } = 'input' in source ? operands[source.input] : probed[source.output];
      const elements: HostArray = storage.host;
      const types = values.map(({ type }) => (sizes === null ? type : substituteType(type, sizes)));
      try {
        declarationOf(call.op).check!.refuse(elements, types, call.attributes);
      } catch (error) {
        const { source: line } = call;
        throw inContext(error, 'in captured code', {
          op: call.op.name,
          ...(line !== undefined && { source: line }),
        });
      }
    }
  }
}
