import { flattenTree, unflattenTree } from '../../base/attributes/tree.js';
import type { IslandReport, PartReport } from '../../runtime/execution/backends.js';
import type { TierReport } from '../../runtime/execution/executable.js';
import { ArgumentAliases } from './aliases.js';
import { checkResult } from './cuts.js';
import type { FieldGuards } from '../fields/guards.js';
import { GraphRunner } from '../graphs/graph-runner.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import type { NDArray } from '../core/ndarray.js';
import type { CodeCall, Segment } from './segments.js';
import { isArray } from '../graphs/signature.js';
import { runStaticCode } from '../core/static-code.js';
import type { Trace } from './trace.js';

/** Runs the graphs of a trace, with the side-effect code between them. */
export class TraceRunner {
  readonly trace: Trace;
  readonly graphs: readonly GraphRunner[];
  /** Values of the latest call, where `keepsLocals` asks for them; null before the first call. */
  locals: readonly NDArray[] | null = null;
  readonly #keepsLocals: boolean;
  readonly #fields: FieldGuards;
  readonly #aliases: ArgumentAliases | null;
  /** True when the trace is one graph with the call's own arguments and results. */
  readonly #isOneGraph: boolean;

  constructor(
    trace: Trace,
    fields: FieldGuards,
    { save, tier, strict, backend, fallback }: HybridizeOptions,
    keepsLocals: boolean,
  ) {
    this.trace = trace;
    this.#fields = fields;
    const options = { save, tier, strict, backend, fallback };
    this.graphs = trace.segments.map(({ parts }) => new GraphRunner(parts, options));
    this.#keepsLocals = keepsLocals;
    this.#aliases = ArgumentAliases.of(trace);
    this.#isOneGraph = !keepsLocals && isOneGraph(trace);
  }

  /** Calls that ran on the CPU because a device lacks them. */
  islands(): readonly IslandReport[] {
    return this.graphs.flatMap((graph) => graph.islands());
  }

  /** Parts of graphs that an engine runs parts of. */
  parts(): readonly PartReport[] {
    return this.graphs.flatMap((graph) => graph.divisions());
  }

  /** Execution tiers so far. */
  tiers(): readonly TierReport[] {
    if (this.graphs.length === 1) return this.graphs[0].tiers();
    return this.graphs.flatMap((graph, k) =>
      graph.tiers().map((report) => ({
        ...report,
        part: `graph ${k}${report.part === '' ? '' : `, ${report.part}`}`,
      })),
    );
  }

  run(given: readonly NDArray[]): readonly NDArray[] {
    this.#aliases?.refuse(given);
    if (this.#isOneGraph) return this.graphs[0].run(given);
    const { segments, returns, localCount } = this.trace;
    const locals = Array.from({ length: localCount }, (_, local) => given[local]);
    segments.forEach(({ takes, gives, code }, k) => {
      place(locals, gives, this.graphs[k].run(takes.map((local) => locals[local])));
      if (code === null) return;
      place(locals, code.gives, runCode(code, locals));
      this.#fields.noteCode();
    });
    if (this.#keepsLocals) this.locals = locals;
    return returns.map((local) => locals[local]);
  }
}

function isOneGraph({ segments, returns, localCount }: Trace): boolean {
  const [{ takes, gives, code }] = segments;
  return (
    segments.length === 1 &&
    code === null &&
    localCount === takes.length + gives.length &&
    takes.every((local, i) => local === i) &&
    returns.length === gives.length &&
    returns.every((local, i) => local === gives[i])
  );
}

function place(locals: NDArray[], at: Segment['gives'], values: readonly NDArray[]): void {
  at.forEach((local, i) => (locals[local] = values[i]));
}

function runCode(
  { code, source, takes, argStructure, known }: CodeCall,
  locals: readonly NDArray[],
): readonly NDArray[] {
  const args = unflattenTree(
    argStructure,
    takes.map((local) => locals[local].detach()),
  ) as readonly unknown[];
  const result = flattenTree(runStaticCode(code, args), isArray, 'staticCode');
  checkResult(known, result, source);
  return result.leaves;
}
