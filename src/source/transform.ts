import type * as t from '@babel/types';
import { directive, renderFunction } from './emit/functions.js';
import type { FileContext } from './emit/form.js';
import { HostForm } from './emit/host.js';
import { added, assemble, type Piece, Places } from './emit/output.js';
import { plainVariables } from './emit/plain-variables.js';
import { type ForeignSourceMap, InputMap, type SourceMap } from './maps/source-map.js';
import { parse, type SourceType } from './syntax/parse.js';
import { resolveScopes } from './syntax/scopes.js';
import { hasDirective, isFunction, visitNodes } from './syntax/walk.js';

/** Options of `transform`. */
export interface TransformOptions {
  /** The name of the file: its ending says whether it is TypeScript and whether it has JSX. */
  readonly filename: string;
  /** The module that converted code imports. Default `kaon/converted`. */
  readonly runtime?: string;
  /** The kind of the file. Default `commonjs` for names that end so (`.cjs`, `.cts`), `module` for others. */
  readonly sourceType?: SourceType;
  /** The source map of the code, where another tool has written it: places are those in its source. */
  readonly inputMap?: ForeignSourceMap;
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
 * @throws FormatError for code that cannot be parsed, UnsupportedError where the parser is not installed.
 */
export function transform(code: string, options: TransformOptions): Transformed | null {
  const result = convert(code, options);
  if (result === null || options.inputMap === undefined) return result;
  return { code: result.code, map: new InputMap(options.inputMap).under(result.map) };
}

/** Does the same, but the map leads to the given code, whatever that was written from. */
export function convert(
  code: string,
  { filename, runtime = 'kaon/converted', sourceType, inputMap }: TransformOptions,
): Transformed | null {
  if (!code.includes(directive)) return null;
  const parsed = parse(code, filename, sourceType);
  const { program } = parsed.file;
  const functions = convertedFunctions(program);
  if (functions.length === 0) return null;
  const scopes = resolveScopes(program);
  const file: FileContext = {
    parsed,
    scopes,
    plain: plainVariables(program, scopes),
    places: new Places(code, inputMap === undefined ? null : new InputMap(inputMap)),
    runtime: unusedName(code),
    renderFunction,
  };
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

/** The outermost functions with the directive, in order. */
function convertedFunctions(program: t.Program): readonly t.Function[] {
  const found: t.Function[] = [];
  visitNodes(program, (node) => {
    if (!isFunction(node) || !hasDirective(node.body, directive)) return true;
    found.push(node);
    return false;
  });
  return found;
}

/** A name that begins no name of the code. */
function unusedName(code: string): string {
  let name = '$kn';
  while (code.includes(name)) name += '$';
  return name;
}
