import { allCalls, decidesSizes } from '../../ir/all-calls.js';
import type { Program } from '../../ir/program.js';
import { refuseSize } from './lowering/call.js';
import { writeHloProgram } from './program.js';
import { typeText } from './language/types.js';
import { indented } from './language/builder.js';
import { HloWriter } from './language/writer.js';

/**
 * The text of a module whose function `main` computes a program: its arguments are the program's inputs, its results
 * the outputs (or those `kept`), in order.
 * @throws UnsupportedError for computations that StableHLO cannot express, naming the operator and its line.
 */
export function exportModule(program: Program, kept: readonly number[] | null = null): string {
  const hlo = new HloWriter();
  const args = program.inputs.map(({ type }) => hlo.moduleArgument(type));
  const results = writeHloProgram(hlo, program, args, kept);
  const head = args.map((arg) => `${arg.name}: ${typeText(arg)}`).join(', ');
  const types = results.map(typeText).join(', ');
  hlo.ops('func.return', results, []);
  return [
    'module {',
    `func.func public @main(${head}) -> (${types}) {`,
    indented(hlo.lines),
    '}',
    '}',
    '',
  ].join('\n');
}

/**
 * Refuses a program that still has sizes of its own after the passes, by the operator of the original that decides one.
 * @throws UnsupportedError
 */
export function refuseDataSizes(original: Program, lowered: Program): void {
  if (!decidesSizes(lowered)) return;
  const hlo = new HloWriter();
  for (const { op, source, decides } of allCalls(original)) {
    for (const { size } of decides) hlo.naming(op.name, source, () => refuseSize(hlo, [size]));
  }
}
