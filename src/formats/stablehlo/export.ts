import type { Program } from '../../ir/program.js';
import { staticType } from './call.js';
import { writeProgram } from './program.js';
import { typeText } from './types.js';
import { HloWriter, indented } from './writer.js';

/**
 * The text of a module whose function `main` computes a program: its arguments are the program's inputs, its results
 * the outputs, in order.
 * @throws UnsupportedError for computations that StableHLO cannot express, naming the operator and its line.
 */
export function exportModule(program: Program): string {
  const hlo = new HloWriter();
  const args = program.inputs.map(({ type }) => hlo.argument(staticType(hlo, type)));
  const results = writeProgram(hlo, program, args);
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
