import type * as parser from '@babel/parser';
import type { File } from '@babel/types';
import { FormatError } from '../../base/errors.js';
import { importOptional, optionalPackage } from '../../base/optional.js';

/** A token of the source: its place, and its text when needed is read from the source. */
export interface Token {
  readonly start: number;
  readonly end: number;
  readonly isComment: boolean;
}

/** A parsed file. */
export interface Parsed {
  readonly code: string;
  readonly filename: string;
  readonly file: File;
  /** In order; comments included. */
  readonly tokens: readonly Token[];
}

/** Loads the parser, an optional peer dependency, where it is installed. */
export function loadParser(): Promise<void> {
  return importOptional('@babel/parser', () => import('@babel/parser'));
}

/** The kind of a file; `unambiguous` is a module where the code has imports or exports, and CommonJS elsewhere. */
export type SourceType = 'module' | 'commonjs' | 'unambiguous';

/**
 * Parses TypeScript or JavaScript, with JSX where the name of the file allows it.
 * @throws FormatError for code with a syntax error, naming its line.
 */
export function parse(
  code: string,
  filename: string,
  sourceType: SourceType = /\.c[jt]s$/.test(filename) ? 'commonjs' : 'module',
): Parsed {
  const { parse: parseCode } = optionalPackage<typeof parser>('@babel/parser', 'transform', '--save-dev '); // prettier-ignore
  const isTypeScript = /\.[cm]?tsx?$/.test(filename);
  // `<T>x` is a type assertion in .ts files and an element elsewhere.
  const hasJsx = !/\.[cm]?ts$/.test(filename);
  try {
    const file = parseCode(code, {
      sourceType: sourceType === 'commonjs' ? 'script' : sourceType,
      sourceFilename: filename,
      plugins: [
        ...(isTypeScript ? (['typescript'] as const) : []),
        ...(hasJsx ? (['jsx'] as const) : []),
        'decorators-legacy',
      ],
      allowReturnOutsideFunction: true,
      attachComment: false,
      tokens: true,
    });
    return { code, filename, file, tokens: (file.tokens ?? []).map(tokenOf) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new FormatError(`${filename} cannot be parsed: ${error.message}`, {
      op: 'transform',
      cause: error,
      ...('loc' in error && { source: `${filename}:${positionText(error.loc)}` }),
    });
  }
}

/** The parser declares tokens as untyped. */
function tokenOf(token: {
  readonly type: unknown;
  readonly start: number;
  readonly end: number;
}): Token {
  const isComment = token.type === 'CommentLine' || token.type === 'CommentBlock';
  return { start: token.start, end: token.end, isComment };
}

function positionText(loc: unknown): string {
  if (typeof loc !== 'object' || loc === null || !('line' in loc) || !('column' in loc)) return '';
  return `${String(loc.line)}:${Number(loc.column) + 1}`;
}
