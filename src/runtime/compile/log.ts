import { currentDebugging, type Debugging, type Flag, flagTable } from '../../base/flags.js';
import { namedInputs, type Program, typeToString } from '../../ir/program.js';
import { printProgram } from '../../ir/formats/text.js';
import type { Law } from '../../ops/declare/law.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { PassReport } from '../../passes/pipeline.js';
import { groupLines, kernelsText, memoryLines } from '../execution/explain.js';

/** Prints the `KAON_DEBUG` output of one compilation, stage by stage. */
export class CompilationLog {
  readonly #debugging: Debugging;
  readonly #laws: Map<string, number> = new Map();

  /** Null when no output is requested, so that nothing is measured. `what` names the action. */
  static of(program: Program, what = 'compile'): CompilationLog | null {
    const debugging = currentDebugging();
    const isPrinted = Object.entries(flagTable).some(
      ([name, { isPrinted }]) => isPrinted && debugging.flags[name as Flag],
    );
    return isPrinted ? new CompilationLog(program, what, debugging) : null;
  }

  private constructor(program: Program, what: string, debugging: Debugging) {
    this.#debugging = debugging;
    const { flags, print } = debugging;
    const inputs = namedInputs(program).map(({ name, type }) => `${name}: ${typeToString(type)}`);
    const outputs = program.outputs.map(({ name }) => name);
    print(`kaon: ${what} (${inputs.join(', ')}) -> ${outputs.join(', ')}`);
    if (flags.programs) print(printProgram(program).trimEnd());
  }

  readonly pass = ({ name, milliseconds, before, after, unchanged }: PassReport): void => {
    const { flags, print } = this.#debugging;
    if (flags.passes) {
      const change = `${before.graph.nodeCount} -> ${after.graph.nodeCount} nodes`;
      print(stageLine(name, milliseconds, unchanged ? '(unchanged)' : change));
    }
    if (flags.laws)
      for (const [law, count] of this.#laws) print(`    ${law}: ${counted(count, 'time')}`);
    this.#laws.clear();
    if (flags.programs && !unchanged) print(`after ${name}: ${printProgram(after).trimEnd()}`);
  };

  readonly law = (op: string, { law }: Law): void => {
    const key = `${op}: ${law}`;
    this.#laws.set(key, (this.#laws.get(key) ?? 0) + 1);
  };

  /** Runs a stage; `describe` summarizes its result. */
  stage<T>(name: string, run: () => T, describe: (made: T) => string): T {
    const start = performance.now();
    const made = run();
    const milliseconds = performance.now() - start;
    const { flags, print } = this.#debugging;
    if (flags.passes) print(stageLine(name, milliseconds, describe(made)));
    return made;
  }

  /** Prints the partition of a program, a line for each step. */
  partition(lines: readonly string[]): void {
    const { flags, print } = this.#debugging;
    if (flags.passes || flags.groups) for (const line of lines) print(`  ${line}`);
  }

  plan(plan: ProgramPlan): void {
    const { flags, print } = this.#debugging;
    if (flags.groups) for (const line of groupLines(plan)) print(`  ${line}`);
    if (flags.memory) for (const line of memoryLines(plan)) print(`  ${line}`);
    if (flags.kernels) print(kernelsText(plan).trimEnd());
  }
}

function stageLine(name: string, milliseconds: number, made: string): string {
  return `  ${name.padEnd(10)} ${milliseconds.toFixed(3).padStart(9)} ms  ${made}`;
}

/** `1 group`, `2 groups`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
