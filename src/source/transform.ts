import type * as t from '@babel/types';
import { UnsupportedError } from '../base/errors.js';
import { directive, renderFunction } from './emit/functions.js';
import type { FileContext } from './emit/form.js';
import { HostForm } from './emit/host.js';
import { added, assemble, type Piece, Places, type SourceMap } from './emit/output.js';
import { plainVariables } from './emit/plain-variables.js';
import { parse } from './syntax/parse.js';
import { resolveScopes } from './syntax/scopes.js';
import { hasDirective, isFunction, visitNodes } from './syntax/walk.js';

/** Options of `transform`. */
export interface TransformOptions {
  /** The name of the file: its ending says whether it is TypeScript and whether it has JSX. */
  readonly filename: string;
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
 * @throws FormatError for code that cannot be parsed, UnsupportedError for modules of CommonJS and where the
 * parser is not installed.
 */
export function transform(
  code: string,
  { filename, runtime = 'kaon/converted' }: TransformOptions,
): Transformed | null {
  if (!code.includes(directive)) return null;
  const parsed = parse(code, filename);
  const { program } = parsed.file;
  const functions = convertedFunctions(program);
  if (functions.length === 0) return null;
  if (/\.c[jt]s$/.test(filename)) {
    throw new UnsupportedError(`${filename} is a CommonJS module`, {
      op: 'transform',
      advice: "write the functions with 'use graph' in an ES module",
    });
  }
  const scopes = resolveScopes(program);
  const file: FileContext = {
    parsed,
    scopes,
    plain: plainVariables(program, scopes),
    places: new Places(code),
    runtime: unusedName(code),
    renderFunction,
  };
  const form = new HostForm(file, false, false);
  const pieces: Piece[] = [];
  let at = 0;
  for (const node of functions) {
    pieces.push({ start: at, end: node.start! }, ...renderFunction(node, form));
    at = node.end!;
  }
  pieces.push({ start: at, end: code.length });
  // Imports are hoisted: at the end this one moves no line.
  pieces.push(added(`\nimport * as ${file.runtime} from ${JSON.stringify(runtime)};\n`));
  return assemble(pieces, parsed);
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
