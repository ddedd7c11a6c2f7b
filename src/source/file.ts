import type * as t from '@babel/types';
import { graphDirective, mayHaveDirective } from '../base/directive.js';
import { FormatError } from '../base/errors.js';
import type { FileContext } from './emit/form.js';
import { renderFunction } from './emit/functions.js';
import { Places } from './emit/output.js';
import { plainVariables } from './emit/plain-variables.js';
import { encodeConstructs } from './explain/construct.js';
import { explainFunction } from './explain/explaining-form.js';
import { type ForeignSourceMap, InputMap } from './maps/source-map.js';
import { parse, type SourceType } from './syntax/parse.js';
import { resolveScopes } from './syntax/scopes.js';
import { hasDirective, isFunction, strictSpans, visitNodes } from './syntax/walk.js';

/** Facts about a file that its code does not tell. */
export interface SourceOptions {
  /** The name of the file: its ending says whether it is TypeScript and whether it has JSX. */
  readonly filename: string;
  /** The kind of the file. Default `commonjs` for names that end so (`.cjs`, `.cts`), `module` for others. */
  readonly sourceType?: SourceType;
  /** The source map of the code, where another tool has written it: places are those in its source. */
  readonly inputMap?: ForeignSourceMap;
}

/** A file with functions that are to be converted. */
export interface OpenedFile {
  readonly file: FileContext;
  /** The outermost functions with the directive, in order. */
  readonly functions: readonly t.Function[];
}

/**
 * Parses a file and finds what is to be converted.
 * @returns Null where nothing has the directive.
 * @throws FormatError for code that cannot be parsed, and for a directive that is not at the start of a
 * function's body; UnsupportedError where the parser is not installed.
 */
export function openFile(
  code: string,
  { filename, sourceType, inputMap }: SourceOptions,
): OpenedFile | null {
  if (!mayHaveDirective(code)) return null;
  const parsed = parse(code, filename, sourceType);
  const { program } = parsed.file;
  const places = new Places(code, inputMap === undefined ? null : new InputMap(inputMap));
  refuseMisplaced(program, (node) => `${filename}:${places.text(node.start!)}`);
  const functions = convertedFunctions(program);
  if (functions.length === 0) return null;
  const scopes = resolveScopes(program);
  const file: FileContext = {
    parsed,
    scopes,
    plain: plainVariables(program, scopes),
    strict: strictSpans(program),
    places,
    runtime: unusedName(code),
    renderFunction,
    explain: (node) => encodeConstructs(explainFunction(node, file).constructs),
  };
  return { file, functions };
}

function convertedFunctions(program: t.Program): readonly t.Function[] {
  const found: t.Function[] = [];
  visitNodes(program, (node) => {
    if (!isFunction(node) || !hasDirective(node.body, graphDirective)) return true;
    found.push(node);
    return false;
  });
  return found;
}

/** Refuses a statement that looks like the directive and is none: its function would not be converted. */
function refuseMisplaced(program: t.Program, placeText: (node: t.Node) => string): void {
  visitNodes(program, (node) => {
    const isStatement =
      node.type === 'ExpressionStatement' &&
      node.expression.type === 'StringLiteral' &&
      node.expression.value === graphDirective;
    if (!isStatement && !(node.type === 'Program' && hasDirective(node, graphDirective)))
      return true;
    const at = node.type === 'Program' ? node.directives.find(({ value }) => value.value === graphDirective)! : node; // prettier-ignore
    throw new FormatError(`'${graphDirective}' is not at the start of a function's body`, {
      op: 'transform',
      expected: 'the directive as the first statement of each function that is to be converted',
      actual:
        node.type === 'Program' ? 'the directive of a whole file' : 'a statement after others',
      source: placeText(at),
    });
  });
}

/** A name that begins no name of the code. */
function unusedName(code: string): string {
  let name = '$kn';
  while (code.includes(name)) name += '$';
  return name;
}
