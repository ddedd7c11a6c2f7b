import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { CapturedExpressions } from './captured-expressions.js';
import type { FileContext } from './form.js';
import type { FunctionFacts } from './function-facts.js';
import { endsWithoutMark } from './host.js';
import { added, type Piece } from './output.js';
import { has, labeledBy, jumpTarget } from './shape.js';

/** The form of a jump to a statement. */
export type AssignmentTarget =
  /** The statement is itself in the output. */
  | { readonly kind: 'native' }
  /** The runtime runs the loop; jumps are told to it by its number. */
  | { readonly kind: 'loop'; readonly number: number }
  /** A continuation follows the statement; from inside a loop, the number tells a jump to it. */
  | {
      readonly kind: 'continuation';
      readonly name: string;
      readonly number: number;
      readonly depth: number;
    };

/** The surroundings of a list of statements. */
export interface Place {
  /** The continuation of the list; null where control goes on by itself. */
  readonly next: string | null;
  /** The steps at which the continuations that follow end. */
  readonly ends: readonly NodeId[];
}

/** A list after which control goes on by itself. */
export const native: Place = { next: null, ends: [] };

/** Statements of the captured form that stay statements: what decides in them may not be a captured array. */
export abstract class NativeStatements extends CapturedExpressions {
  /** The forms of jumps to the statements around. */
  readonly targets: Map<t.Node, AssignmentTarget> = new Map();
  /** True if `return` is told to the runtime, since closures are between it and the function. */
  readonly isReturnTold: boolean;
  /** The number of loops of the runtime around. */
  depth = 0;
  #path: readonly t.Node[] = [];

  constructor(file: FileContext, facts: FunctionFacts, isReturnTold: boolean) {
    super(file, facts);
    this.isReturnTold = isReturnTold;
  }

  abstract list(nodes: readonly t.Node[], place: Place): readonly Piece[];
  abstract statement(node: t.Node): readonly Piece[];

  within<R>(node: t.Node, inside: () => R): R {
    const path = this.#path;
    this.#path = [...path, node];
    const result = inside();
    this.#path = path;
    return result;
  }

  /** A pattern without the type that a declaration gives it. */
  pattern(node: t.Node): readonly Piece[] {
    if ('typeAnnotation' in node && node.typeAnnotation) {
      const { start } = node.typeAnnotation;
      const pieces = this.expression(
        node.type === 'Identifier'
          ? { ...node, typeAnnotation: null, end: node.start! + node.name.length }
          : ({ ...node, typeAnnotation: null, end: start! } as t.Node),
      );
      return pieces;
    }
    return this.expression(node);
  }

  marked(node: t.Node, pieces: readonly Piece[]): readonly Piece[] {
    return endsWithoutMark(node, this.file.parsed.code) ? [...pieces, added(';')] : pieces;
  }

  nativeIf(node: t.IfStatement): readonly Piece[] {
    return [
      added('if ('),
      ...this.call('test', node, this.argument(node.test), this.site(node)),
      added(') { '),
      ...this.list([node.consequent], native),
      added(' }'),
      ...(node.alternate
        ? [added(' else { '), ...this.list([node.alternate], native), added(' }')]
        : []),
    ];
  }

  /** A `try`: what cannot become a graph passes its handler. */
  nativeTry(node: t.TryStatement): readonly Piece[] {
    const { runtime } = this.file;
    const block = (child: t.BlockStatement): readonly Piece[] => this.expression(child);
    return [
      added(`${runtime}.undecided('try', ${this.site(node)}); `),
      ...this.copy(node, (child) => {
        if (child === node.block) {
          return [
            added(`{ try { ${runtime}.guard(1); `),
            ...block(node.block),
            added(` } finally { ${runtime}.guard(-1); } }`),
          ];
        }
        if (child.type !== 'CatchClause') return this.expression(child);
        return this.copy(child, (part) =>
          part === child.body
            ? [added(`{ ${runtime}.caught(); `), ...block(child.body), added(' }')]
            : this.expression(part),
        );
      }),
    ];
  }

  /** A statement that stays what it is: if a captured array decides about it, that is an error. */
  native(node: t.Node): readonly Piece[] {
    const inner = node.type === 'LabeledStatement' ? labeledBy(node) : node;
    this.targets.set(inner, { kind: 'native' });
    const body = (child: t.Node): readonly Piece[] => [
      added('{ '),
      ...this.list([child], native),
      added(' }'),
    ];
    return this.copy(node, (child) => {
      if (node.type === 'LabeledStatement') {
        if (child === node.label) return this.copy(child);
        return inner === node ? body(child) : this.within(child, () => this.native(child));
      }
      if ('test' in node && child === node.test && node.type !== 'SwitchCase') {
        return this.call('test', child, this.argument(child), this.site(node));
      }
      if ('left' in node && child === node.left) return this.#header(child);
      if ('init' in node && child === node.init) return this.#header(child);
      if (node.type === 'ForOfStatement' && child === node.right) {
        return this.call('rows', child, this.argument(child), this.site(node));
      }
      if (node.type === 'SwitchStatement') {
        if (child === node.discriminant) {
          return this.call('subject', child, this.argument(child), this.site(node));
        }
        return this.copy(child, (part) =>
          'test' in child && part === child.test
            ? this.call('subject', part, this.argument(part), this.site(node))
            : this.statement(part),
        );
      }
      return 'body' in node && child === node.body ? body(child) : this.expression(child, 'none');
    });
  }

  /** The declaration in the head of a loop; `var`s are declared at the start of the function. */
  #header(node: t.Node): readonly Piece[] {
    if (node.type !== 'VariableDeclaration') return this.expression(node, 'none');
    if (node.kind !== 'var') return this.copy(node);
    return node.declarations.flatMap(({ id, init }, i) => [
      ...(i > 0 ? [added(', ')] : []),
      ...this.pattern(id),
      ...(init ? [added(' = '), ...this.argument(init)] : []),
    ]);
  }

  declarationOrExpression(node: t.Node): readonly Piece[] {
    if (node.type !== 'VariableDeclaration') return [...this.expression(node, 'none'), added(';')];
    if (node.kind !== 'var') {
      const pieces = this.copy(node);
      const isEnded = this.file.parsed.code[node.end! - 1] === ';';
      return isEnded ? pieces : [...pieces, added(';')];
    }
    return node.declarations.flatMap(({ id, init }) =>
      init
        ? [added('('), ...this.pattern(id), added(' = '), ...this.argument(init), added(');')]
        : [],
    );
  }

  jump(node: t.BreakStatement | t.ContinueStatement): readonly Piece[] {
    const target = jumpTarget(node, this.#path);
    const how = target === undefined ? undefined : this.targets.get(target);
    if (how === undefined || how.kind === 'native') return this.marked(node, this.copy(node));
    if (how.kind === 'continuation' && how.depth === this.depth) {
      return [added(`return ${this.file.runtime}.end(${how.name});`, node.start!)];
    }
    const name = node.type === 'BreakStatement' ? 'brk' : 'cont';
    return [added('return '), ...this.call(name, node, String(how.number)), added(';')];
  }
}

/** True if a function calls `eval`, which may use any variable by name. */
export function callsEval(node: t.Node): boolean {
  return has(
    node,
    (inner) =>
      inner.type === 'CallExpression' &&
      inner.callee.type === 'Identifier' &&
      inner.callee.name === 'eval',
  );
}
