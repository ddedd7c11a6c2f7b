import type * as t from '@babel/types';
import type { Parsed } from '../syntax/parse.js';
import type { VariableBinding, Scopes } from '../syntax/scopes.js';
import { childrenOf, type CodeSpan, contains } from '../syntax/walk.js';
import { added, type Piece, type Places } from './output.js';

/** A file that is being converted. */
export interface FileContext {
  readonly parsed: Parsed;
  readonly scopes: Scopes;
  readonly places: Places;
  /** The stretches in strict mode. */
  readonly strict: readonly CodeSpan[];
  /** Variables that hold no array in the host form. */
  readonly plain: ReadonlySet<VariableBinding>;
  /** The name of the runtime in the output, which begins all new names. */
  readonly runtime: string;
  /** A function inside code of a form. */
  readonly renderFunction: (node: t.Function, form: Form) => readonly Piece[];
  /** Description of a function's branches and loops for its directive. */
  readonly explain: (node: t.Function) => string;
}

/** The use of an expression's value: as a value, as a test only, or none. */
export type Use = 'value' | 'test' | 'none';

/** One way to write code again: what it does not convert is copied. */
export abstract class Form {
  readonly file: FileContext;
  /** True if everything is put on one line, so that the lines after it stay where they are. */
  readonly isCompact: boolean;

  constructor(file: FileContext, isCompact: boolean) {
    this.file = file;
    this.isCompact = isCompact;
  }

  /** The pieces for an expression, a pattern, or any node inside a statement. */
  abstract expression(node: t.Node, use?: Use): readonly Piece[];

  /** The source between two nodes. */
  gap(start: number, end: number): readonly Piece[] {
    if (start >= end) return [];
    if (!this.isCompact) return [{ start, end }];
    const { tokens } = this.file.parsed;
    const pieces: Piece[] = [];
    let at = start;
    for (let k = this.#tokenFrom(start); k < tokens.length && tokens[k].start < end; k++) {
      const token = tokens[k];
      if (token.isComment) continue;
      if (token.start > at) pieces.push(added(' '));
      pieces.push({ start: token.start, end: Math.min(token.end, end) });
      at = token.end;
    }
    if (at < end) pieces.push(added(' '));
    return pieces;
  }

  #tokenFrom(offset: number): number {
    const { tokens } = this.file.parsed;
    let [low, high] = [0, tokens.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tokens[middle].start < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Copies a node; its children are written as this form writes expressions. */
  copy(
    node: t.Node,
    visit: (child: t.Node) => readonly Piece[] = (child) => this.expression(child),
  ): readonly Piece[] {
    if (node.type === 'TemplateElement' && this.isCompact) return this.#templateText(node);
    const pieces: Piece[] = [];
    let at = node.start!;
    for (const child of childrenOf(node)) {
      if (child.start! < at) continue;
      pieces.push(...this.gap(at, child.start!));
      pieces.push(...visit(child));
      // Members of types and classes may be apart by their lines only.
      if (this.isCompact && separated.has(node.type) && !this.#isSeparated(child)) {
        pieces.push(added(';'));
      }
      at = child.end!;
    }
    return [...pieces, ...this.gap(at, node.end!)];
  }

  /** Text of a template on one line: the ends of lines are escaped. */
  #templateText({ start, end }: t.TemplateElement): readonly Piece[] {
    const text = this.file.parsed.code.slice(start!, end!);
    if (!/[\r\n]/.test(text)) return this.gap(start!, end!);
    return [
      added(
        text.replaceAll(/(\\*)(?:\r\n|\r|\n)/g, (_, slashes: string) =>
          // An odd number of backslashes continues the line.
          slashes.length % 2 === 1 ? slashes.slice(1) : `${slashes}\\n`,
        ),
        start!,
      ),
    ];
  }

  /** A template with a tag, which sees the text as it is written. */
  tagged(node: t.TaggedTemplateExpression): readonly Piece[] {
    return this.copy(node, (child) =>
      child !== node.quasi
        ? this.callee(child)
        : this.copy(child, (part) =>
            part.type === 'TemplateElement'
              ? this.gap(part.start!, part.end!)
              : this.expression(part),
          ),
    );
  }

  /** The callee of a call or a tag: a member of an object is called with that as `this`. */
  protected callee(node: t.Node): readonly Piece[] {
    return this.expression(node);
  }

  #isSeparated(node: t.Node): boolean {
    const isField = /^Class.*Property$/.test(node.type);
    return (isField ? /;/ : /[;,}]/).test(this.file.parsed.code[node.end! - 1]);
  }

  /** The place of a node as an argument of the runtime's functions. */
  site(node: t.Node): string {
    return `'${this.file.places.text(node.start!)}'`;
  }

  /** Last argument of functions of the runtime that assign members: true for code in sloppy mode. */
  protected sloppiness(node: t.Node): readonly string[] {
    return this.file.strict.some((span) => contains(span, node)) ? [] : ['true'];
  }

  /** A call of the runtime, which stands for a node. */
  call(
    name: string,
    node: t.Node,
    ...args: readonly (string | readonly Piece[])[]
  ): readonly Piece[] {
    const pieces: Piece[] = [added(`${this.file.runtime}.${name}(`, node.start!)];
    args.forEach((argument, i) => {
      if (i > 0) pieces.push(added(', '));
      if (typeof argument === 'string') pieces.push(added(argument));
      else pieces.push(...argument);
    });
    return [...pieces, added(')')];
  }

  /** An expression as an argument. */
  argument(node: t.Node, use: Use = 'value'): readonly Piece[] {
    const pieces = this.expression(node, use);
    return node.type === 'SequenceExpression' ? [added('('), ...pieces, added(')')] : pieces;
  }
}

const separated: ReadonlySet<string> = new Set(['TSInterfaceBody', 'TSTypeLiteral', 'ClassBody']);
