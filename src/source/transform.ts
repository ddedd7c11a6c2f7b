import type * as t from '@babel/types';
import { renderFunction } from './emit/functions.js';
import { HostForm } from './emit/host.js';
import { added, assemble, type Piece } from './emit/output.js';
import { openFile, type SourceOptions } from './file.js';
import { InputMap, type SourceMap } from './maps/source-map.js';

/** Options of `transform`. */
export interface TransformOptions extends SourceOptions {
  /** The module that converted code imports. Default `kaon/converted`. */
  readonly runtime?: string;
}

/** Converted code, and the map back to the code as it was written. */
export interface Transformed {
  readonly code: string;
  readonly map: SourceMap;
}

/**
 * Converts the functions of a module that start with the directive `'use graph'`: their control flow becomes
 * control flow of graphs where arrays decide in captured code. TypeScript stays TypeScript, lines stay where
 * they are, and other code stays as it is.
 *
 * @returns Null where nothing has the directive.
 * @throws FormatError for code that cannot be parsed, and for a directive that is not at the start of a
 * function's body; UnsupportedError where the parser is not installed.
 */
export function transform(code: string, options: TransformOptions): Transformed | null {
  const result = convert(code, options);
  if (result === null || options.inputMap === undefined) return result;
  return { code: result.code, map: new InputMap(options.inputMap).under(result.map) };
}

/** Does the same, but the map leads to the given code, whatever that was written from. */
export function convert(
  code: string,
  { runtime = 'kaon/converted', ...options }: TransformOptions,
): Transformed | null {
  const opened = openFile(code, options);
  if (opened === null) return null;
  const { file, functions } = opened;
  const { parsed } = file;
  const { program } = parsed.file;
  const form = new HostForm(file, false, false);
  const pieces: Piece[] = [];
  let at = 0;
  if (program.sourceType === 'script') {
    at = startOf(program);
    const mark = program.directives.length > 0 ? '; ' : '';
    const required = `const ${file.runtime} = require(${JSON.stringify(runtime)}); `;
    pieces.push({ start: 0, end: at }, added(`${mark}${required}`));
  }
  for (const node of functions) {
    pieces.push({ start: at, end: node.start! }, ...renderFunction(node, form));
    at = node.end!;
  }
  pieces.push({ start: at, end: code.length });
  // Imports are hoisted: at the end this one moves no line.
  if (program.sourceType === 'module') {
    pieces.push(added(`\nimport * as ${file.runtime} from ${JSON.stringify(runtime)};\n`));
  }
  return assemble(pieces, parsed);
}

/** The offset of the first statement of a script, or of the end of its directives. */
function startOf({ directives, body, end }: t.Program): number {
  return directives.at(-1)?.end ?? body[0]?.start ?? end!;
}
