import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { isCaptured } from '../syntax/scopes.js';
import type { FileContext } from './form.js';
import { type FunctionFacts, suspends } from '../flow/function-facts.js';
import { environmentOf } from './environments.js';
import { endsWithoutMark } from './host.js';
import { added, type Piece } from './output.js';
import {
  has,
  isLeftFromNative,
  isLexical,
  isLoopStatement,
  jumpTarget,
  labeledBy,
  suspensionIn,
  suspensionInside,
  suspensionKeyword,
} from '../syntax/shape.js';
import { SuspendingExpressions } from './suspending-expressions.js';

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
export abstract class NativeStatements extends SuspendingExpressions {
  /** The forms of jumps to the statements around. */
  readonly targets: Map<t.Node, AssignmentTarget> = new Map();
  /** True if `return` is told to the runtime, since closures are between it and the function. */
  isReturnTold: boolean;
  /** The number of loops of the runtime around. */
  depth = 0;
  readonly #function: t.Function;
  #path: readonly t.Node[] = [];

  constructor(file: FileContext, facts: FunctionFacts, node: t.Function, isReturnTold: boolean) {
    super(file, facts, suspends(node), node.body.type === 'BlockStatement');
    this.#function = node;
    this.isReturnTold = isReturnTold;
  }

  abstract list(nodes: readonly t.Node[], place: Place): readonly Piece[];
  abstract statement(node: t.Node): readonly Piece[];

  /** True if a statement becomes a call of the runtime; the others stay what they are. */
  protected isConverted(node: t.Node): boolean {
    if (this.suspends && suspensionInside(node) !== null) return false;
    switch (node.type) {
      case 'IfStatement':
      case 'BlockStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return true;
      case 'ForOfStatement':
        return !this.facts.usesOwnVariables(node);
      case 'ForStatement':
        // Closures keep the loop's variables of their own iteration: that is JavaScript's own loop.
        return (
          node.init?.type !== 'VariableDeclaration' ||
          node.init.kind === 'var' ||
          ![...this.facts.bindingsOf(node)].some(isCaptured)
        );
      case 'SwitchStatement':
        return (
          node.cases.every(({ consequent }) => !consequent.some(isLexical)) &&
          !this.isLeftOddly(node)
        );
      case 'LabeledStatement': {
        const inner = labeledBy(node);
        return inner === node ? !this.isLeftOddly(node) : this.isConverted(inner);
      }
      default:
        return false;
    }
  }

  protected isLeftOddly(node: t.Node): boolean {
    return isLeftFromNative(
      node,
      (inner) =>
        inner.type === 'TryStatement' ||
        inner.type === 'ForInStatement' ||
        ((isLoopStatement(inner) ||
          inner.type === 'SwitchStatement' ||
          inner.type === 'LabeledStatement') &&
          !this.isConverted(inner)),
    );
  }

  within<R>(node: t.Node, inside: () => R): R {
    const path = this.#path;
    this.#path = [...path, node];
    const result = inside();
    this.#path = path;
    return result;
  }

  /** True inside of a `try` whose `finally` runs after a jump out of it. */
  protected isFinalized(): boolean {
    return this.#path.some((node) => node.type === 'TryStatement' && Boolean(node.finalizer));
  }

  /** The reason why a statement stays what it is, as arguments of the runtime: its place, and a name. */
  #obstacle(node: t.Node): readonly [site: string, construct: string] {
    const told = (at: t.Node, construct: string): readonly [string, string] => [this.site(at), `'${construct}'`]; // prettier-ignore
    const suspension = this.suspends ? suspensionInside(node) : null;
    if (suspension !== null) return told(suspension, suspensionKeyword(suspension));
    if (isLoopStatement(node) && !this.isConverted(node)) {
      return told(node, this.isLeftOddly(node) ? 'a loop that a jump leaves from inside of try' : 'a loop whose variables closures keep'); // prettier-ignore
    }
    if (node.type === 'SwitchStatement' && !this.isConverted(node)) {
      return told(node, this.isLeftOddly(node) ? 'a switch that a jump leaves from inside of try' : 'a switch with declarations of its own'); // prettier-ignore
    }
    for (const around of this.#path.toReversed()) {
      if (around === node || around.type === 'SwitchStatement') continue;
      if (around.type === 'TryStatement') return told(node, 'a jump out of try');
      if (around.type === 'ForInStatement') return told(node, 'a jump out of for...in');
      if (!isLoopStatement(around) || this.isConverted(around)) continue;
      const inside = this.suspends ? suspensionInside(around) : null;
      if (inside !== null) return told(inside, suspensionKeyword(inside));
      return told(node, 'a jump out of a loop whose variables closures keep');
    }
    const after = this.suspends ? (suspensionIn(this.#function.body, node.end!) ?? suspensionIn(this.#function.body)) : null; // prettier-ignore
    return after === null
      ? told(node, 'a statement with this test')
      : told(after, suspensionKeyword(after));
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
      ...this.call('test', node, this.argument(node.test), ...this.#obstacle(node)),
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
    // A function that suspends leaves the block for a while; for await does so without a word.
    const [enter, leave] = !this.suspends
      ? [`${runtime}.guard(1); `, `${runtime}.guard(-1);`]
      : has(node.block, (inner) => inner.type === 'ForOfStatement' && inner.await === true)
        ? ['', '']
        : [this.guarding(1), this.guarding(-1)];
    const block = (child: t.BlockStatement): readonly Piece[] => this.expression(child);
    return [
      added(`${runtime}.undecided('try', ${this.site(node)}); `),
      ...this.copy(node, (child) => {
        if (child === node.block) {
          return [
            added(`{ try { ${enter}`),
            ...block(node.block),
            added(` } finally { ${leave} } }`),
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
        return this.call('test', child, this.argument(child), ...this.#obstacle(node));
      }
      if ('left' in node && child === node.left) return this.#header(child);
      if ('init' in node && child === node.init) return this.#header(child);
      if (node.type === 'ForOfStatement' && child === node.right) {
        if (node.await) return this.expression(child);
        return this.call('rows', child, this.argument(child), ...this.#obstacle(node));
      }
      if (node.type === 'SwitchStatement') {
        if (child === node.discriminant) {
          return this.call('subject', child, this.argument(child), ...this.#obstacle(node));
        }
        return this.copy(child, (part) =>
          'test' in child && part === child.test
            ? this.call('subject', part, this.argument(part), ...this.#obstacle(node))
            : this.statement(part),
        );
      }
      if ('body' in node && child === node.body) return body(child);
      const isRead = node.type === 'ForInStatement' && child === node.right;
      return this.expression(child, isRead ? 'value' : 'none');
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
      const environments = this.facts.declaredBy(node).flatMap((binding) => environmentOf(binding, this.file.runtime) ?? []); // prettier-ignore
      return [
        ...pieces,
        ...(isEnded ? [] : [added(';')]),
        ...environments.map((name) =>
          added(` const ${name} = ${this.file.runtime}.environment();`),
        ),
      ];
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

/** The construct of a function that may use any variable by a name that no one sees; null where there is none. */
export function dynamicScopeIn(node: t.Node): 'eval' | 'with' | null {
  const isEval = (inner: t.Node): boolean =>
    inner.type === 'CallExpression' &&
    inner.callee.type === 'Identifier' &&
    inner.callee.name === 'eval';
  if (has(node, isEval)) return 'eval';
  return has(node, ({ type }) => type === 'WithStatement') ? 'with' : null;
}
