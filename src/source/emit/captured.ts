import type * as t from '@babel/types';
import { loopBoundOf } from '../syntax/loop-bound.js';
import { isTypeOnly } from '../syntax/walk.js';
import type { FileContext } from './form.js';
import { type FunctionFacts, suspends } from '../flow/function-facts.js';
import { leadingExitsOf } from '../syntax/leading-exits.js';
import { native, NativeStatements, type Place } from './native-statements.js';
import { added, type Piece } from './output.js';
import {
  completes,
  escapes,
  jumping,
  jumpsOutOf,
  returnsFromInside,
  enclosing,
  jumpsIn,
  isLoopStatement,
  labeledBy,
  mayPart,
  suspensionIn,
  type LoopShape,
} from '../syntax/shape.js';

/**
 * The body of a function in the form that captured code runs in. Statements that decide become calls of the
 * runtime, with what they decide about in closures. Where such a statement may be left by a jump, what
 * follows it is a closure too, its continuation: the runtime runs it on each path that comes to it.
 */
export class CapturedForm extends NativeStatements {
  readonly #body: t.Function['body'];
  /** The statements that leave a loop at the start of its body, by their places among these. */
  readonly #exits = new Map<t.Node, number>();
  #numbers = 0;

  constructor(file: FileContext, facts: FunctionFacts, node: t.Function) {
    super(file, facts, node, !suspends(node) && returnsFromInside(node.body));
    this.#body = node.body;
  }

  /** The name of the function's own continuation. */
  readonly end: string = `${this.file.runtime}_end`;

  /** The statements of the body. */
  statements(): readonly Piece[] {
    if (this.#body.type !== 'BlockStatement') {
      this.noteReturned(this.#body);
      return this.expression(this.#body);
    }
    return this.list(this.#body.body, { next: this.isReturnTold ? this.end : null, ends: [] });
  }

  override block(node: t.BlockStatement | t.StaticBlock): readonly Piece[] {
    const own = node.type === 'StaticBlock' ? [...this.facts.bindingsOf(node)].filter(({ kind }) => kind === 'var') : []; // prettier-ignore
    const declared = own.length === 0 ? '' : `var ${own.map(({ name }) => name).join(', ')}; `;
    const start = node.type === 'StaticBlock' ? 'static { ' : '{ ';
    return [added(`${start}${declared}`), ...this.list(node.body, native), added(' }')];
  }

  override list(nodes: readonly t.Node[], place: Place): readonly Piece[] {
    const pieces: Piece[] = [];
    // Functions are there before the first statement runs, also those after the start of a continuation.
    for (const node of nodes) {
      if (node.type === 'FunctionDeclaration') pieces.push(...this.file.renderFunction(node, this));
    }
    const rest = nodes.filter((node) => node.type !== 'FunctionDeclaration' && !isTypeOnly(node));
    for (const [i, node] of rest.entries()) {
      const { next } = place;
      const isCut = next !== null && this.isConverted(node) && escapes(node);
      if (isCut && !this.facts.isUsedBefore(nodes, rest.slice(i + 1))) {
        const tail = rest.slice(i + 1);
        pieces.push(
          added('return '),
          ...this.#escaping(node, this.#continuation(tail, place), place),
        );
        pieces.push(added(';'));
        return pieces;
      }
      const ending = next === null ? this.#ending(rest.slice(i), nodes) : null;
      if (ending !== null) return [...pieces, ...ending];
      pieces.push(...this.statement(node));
    }
    const isLeft = rest.length > 0 && jumping.has(rest[rest.length - 1].type);
    if (place.next !== null && !isLeft) {
      pieces.push(added(`return ${this.file.runtime}.end(${place.next});`));
    }
    return pieces;
  }

  /**
   * The rest of a list after which control does not go on, as a completion; null for what returns by itself. Such a
   * list may lie where no continuation can be, inside of `try` and of functions that suspend.
   */
  #ending(tail: readonly t.Node[], list: readonly t.Node[]): readonly Piece[] | null {
    const [first] = tail;
    if (!this.isConverted(first) || !escapes(first) || this.isFinalized()) return null;
    const isLast = this.#body.type === 'BlockStatement' && list === this.#body.body;
    if (!isLast && tail.every(completes)) return null;
    const isLeaving = ({ type }: t.Node): boolean => type !== 'ReturnStatement';
    if (tail.some((node) => suspensionIn(node) !== null || jumpsOutOf(node).some(isLeaving))) return null; // prettier-ignore
    if (this.facts.isUsedBefore(list, tail)) return null;
    const isTold = this.isReturnTold;
    this.isReturnTold = true;
    const closure = this.#closure(tail, []);
    this.isReturnTold = isTold;
    const completion = [added('('), ...closure, added(')()')];
    const value = isTold ? completion : this.call('finish', first, completion);
    return [added('return '), ...value, added(';')];
  }

  /** The continuation that runs statements and then the one after them. */
  #continuation(tail: readonly t.Node[], place: Place): readonly Piece[] {
    const { next } = place;
    if (next === null || tail.length === 0) return [added(next ?? 'undefined')];
    const scope = this.facts.scopeAround(tail[0]);
    const variables = this.variables(tail as never, scope, place.ends, this.meets);
    const name = this.newName();
    return this.call('follow', tail[0], variables, this.#closure(tail, place.ends, name), next);
  }

  /** A closure over statements that is given its continuation. */
  #closure(
    nodes: readonly t.Node[],
    ends: Place['ends'],
    name: string = this.newName(),
  ): readonly Piece[] {
    const [only] = nodes;
    const inside = nodes.length === 1 && only.type === 'BlockStatement' ? only.body : nodes;
    return [added(`(${name}) => { `), ...this.list(inside, { next: name, ends }), added(' }')];
  }

  /** A statement that jumps may leave, as an expression that gives how it ended. */
  #escaping(node: t.Node, next: readonly Piece[], { ends }: Place): readonly Piece[] {
    const around = this.meets;
    const merged = this.mergedWhereMeeting(node, ends);
    // An iteration of a loop ends by itself.
    if (isLoopStatement(node)) this.meets = [];
    else if (mayPart(node)) this.meets = [...around, ...this.stepsAfter(node)];
    try {
      return this.#escapingInside(node, next, { ends }, merged);
    } finally {
      this.meets = around;
    }
  }

  #escapingInside(
    node: t.Node,
    next: readonly Piece[],
    { ends }: Pick<Place, 'ends'>,
    merged: readonly string[],
  ): readonly Piece[] {
    return this.within(node, () => {
      switch (node.type) {
        case 'IfStatement':
          return this.call(
            'branch',
            node,
            this.site(node),
            this.argument(node.test, 'test'),
            this.#closure([node.consequent], ends),
            node.alternate ? this.#closure([node.alternate], ends) : 'undefined',
            this.variables(
              [node.consequent, node.alternate],
              this.facts.scopeAround(node),
              ends,
              this.meets,
            ),
            next,
            ...merged,
            ...this.#leadingExit(node, merged),
          );
        case 'BlockStatement':
          return [added('('), ...this.#closure(node.body, ends), added(')('), ...next, added(')')];
        case 'LabeledStatement': {
          const inner = labeledBy(node);
          if (inner !== node) return this.#escaping(inner, next, { next: null, ends });
          const name = this.newName();
          const number = this.#leavable(node, name);
          const closure = this.#closure([node.body], this.#endsInside(node, ends), name);
          return this.call('labeled', node, this.site(node), String(number), closure, next, ...merged); // prettier-ignore
        }
        case 'SwitchStatement':
          return this.#switch(node, next, ends, merged);
        default:
          return this.#loop(node as LoopShape, next);
      }
    });
  }

  /** The place of a statement among those that leave a loop at the start of its body. */
  #leadingExit(node: t.Node, merged: readonly string[]): readonly string[] {
    const place = this.#exits.get(node);
    if (place === undefined) return [];
    return [...(merged.length === 0 ? ['undefined'] : []), String(place)];
  }

  #switch(
    node: t.SwitchStatement,
    next: readonly Piece[],
    ends: Place['ends'],
    merged: readonly string[],
  ): readonly Piece[] {
    const name = this.newName();
    const number = this.#leavable(node, name);
    const { cases } = node;
    const inside = this.#endsInside(node, ends);
    const list = (each: readonly (readonly Piece[])[]): readonly Piece[] => [
      added('['),
      ...each.flatMap((pieces) => [...pieces, added(', ')]),
      added(']'),
    ];
    const select = this.call(
      'select',
      node,
      this.site(node),
      this.argument(node.discriminant),
      list(
        cases.map(({ test }) =>
          test ? [added('() => ('), ...this.expression(test), added(')')] : [added('undefined')],
        ),
      ),
      list(cases.map(({ consequent }) => this.#closure(consequent, inside))),
      this.variables([node], this.facts.scopeAround(node), inside, this.meets),
      name,
    );
    const closure = [added(`(${name}) => `), ...select];
    return this.call('labeled', node, this.site(node), String(number), closure, next, ...merged);
  }

  /**
   * The steps at which the continuations inside of a statement end. A jump from a loop inside runs what follows the
   * statement where that ends, and not where it jumps.
   */
  #endsInside(node: t.Node, ends: Place['ends']): Place['ends'] {
    const isLeft = jumpsIn(node).some(({ target, path }) => (target === node || target === enclosing) && path.some((each) => each !== node && isLoopStatement(each))); // prettier-ignore
    return isLeft ? [...ends, ...this.stepsAfter(node)] : ends;
  }

  /** Notes that jumps to a statement go on with a continuation. */
  #leavable(node: t.Node, name: string): number {
    const number = this.#numbers++;
    this.targets.set(node, { kind: 'continuation', name, number, depth: this.depth });
    return number;
  }

  #loop(node: LoopShape, next: readonly Piece[]): readonly Piece[] {
    this.depth++;
    const pieces = this.#loopInside(node, next);
    this.depth--;
    return pieces;
  }

  #loopInside(node: LoopShape, next: readonly Piece[]): readonly Piece[] {
    const number = this.#numbers++;
    this.targets.set(node, { kind: 'loop', number });
    const { flow } = this.facts;
    const steps = [flow.heads.get(node)!, flow.after.get(node)!];
    const ends = [flow.nexts.get(node)!, flow.after.get(node)!];
    const scope = this.facts.scopeOf(node);
    if (node.type === 'ForOfStatement') {
      const { left } = node;
      const value = this.newName();
      const name = this.newName();
      const pattern = left.type === 'VariableDeclaration' ? left.declarations[0].id : left;
      const bind = [...this.pattern(pattern), added(` = ${value}`)];
      const isNew = left.type === 'VariableDeclaration' && left.kind !== 'var';
      return this.call(
        'each',
        node,
        this.site(node),
        String(number),
        this.iterated(node.right),
        [
          added(`(${value}, ${name}) => { ${isNew ? `${left.kind} ` : '('}`),
          ...bind,
          added(isNew ? '; ' : '); '),
          ...this.list([node.body], { next: name, ends }),
          added(' }'),
        ],
        this.variables([left, node.body], this.facts.scopeAround(node), steps),
        next,
      );
    }
    const { test } = node as { readonly test?: t.Expression | null };
    const isEndless = !test || (test.type === 'BooleanLiteral' && test.value);
    const update = node.type === 'ForStatement' && node.update;
    const leading = leadingExitsOf(node, this.file.scopes);
    leading?.statements.forEach((exit, i) => this.#exits.set(exit, i));
    const call = this.call(
      'loop',
      node,
      this.site(node),
      String(number),
      String(node.type !== 'DoWhileStatement'),
      isEndless ? 'undefined' : this.thunk(test, 'test'),
      this.#closure([node.body], ends),
      update ? [added('() => { '), ...this.expression(update, 'none'), added('; }')] : 'undefined',
      this.variables([test, node.body, update || null], scope, steps),
      next,
      node.type === 'ForStatement' ? this.#bound(node) : 'undefined',
      ...(leading === null ? [] : [`{ count: ${leading.statements.length}, areBreaks: ${leading.areBreaks} }`]), // prettier-ignore
    );
    if (node.type !== 'ForStatement' || !node.init) return call;
    const init = this.declarationOrExpression(node.init);
    return [added('(() => { '), ...init, added(' return '), ...call, added('; })()')];
  }

  /** The number of iterations that the head of a loop tells, at most: the counter, the limit and the step. */
  #bound(node: t.ForStatement): readonly Piece[] | string {
    const bound = loopBoundOf(node, this.file.scopes);
    if (bound === null) return 'undefined';
    const { counter, limit, step, isInclusive, isWhole, isOwn } = bound;
    return [
      added(`{ now: () => [${counter.name}, `),
      ...this.argument(limit),
      added(
        `], step: ${step}, isInclusive: ${isInclusive}, isWhole: ${isWhole}, isOwn: ${isOwn} }`,
      ),
    ];
  }

  override statement(node: t.Node): readonly Piece[] {
    return this.within(node, () => this.#statementInside(node));
  }

  #statementInside(node: t.Node): readonly Piece[] {
    switch (node.type) {
      case 'BlockStatement':
        return this.block(node);
      case 'IfStatement':
        return escapes(node) || !this.isConverted(node)
          ? this.nativeIf(node)
          : this.#calledIf(node);
      case 'LabeledStatement':
      case 'SwitchStatement':
        if (this.isConverted(node) && !escapes(node)) return this.#called(node);
        return this.native(node);
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'ForStatement':
      case 'ForOfStatement':
        return this.isConverted(node) && !escapes(node) ? this.#called(node) : this.native(node);
      case 'ForInStatement':
        return this.native(node);
      case 'TryStatement':
        return this.nativeTry(node);
      case 'ReturnStatement': {
        if (node.argument) this.noteReturned(node.argument);
        if (!this.isReturnTold) return this.marked(node, this.copy(node));
        const value = node.argument ? this.argument(node.argument) : [];
        return [added('return '), ...this.call('ret', node, value), added(';')];
      }
      case 'BreakStatement':
      case 'ContinueStatement':
        return this.jump(node);
      case 'ThrowStatement':
        return [
          added('throw '),
          ...this.call('thrown', node, this.argument(node.argument), this.site(node)),
          added(';'),
        ];
      case 'ExpressionStatement':
        return this.marked(
          node,
          this.copy(node, (child) => this.expression(child, 'none')),
        );
      case 'VariableDeclaration':
        return this.declarationOrExpression(node);
      case 'EmptyStatement':
        return [added(';')];
      default:
        return this.marked(node, this.copy(node));
    }
  }

  #calledIf(node: t.IfStatement): readonly Piece[] {
    const arm = (branch: t.Node): readonly Piece[] => [
      added('() => { '),
      ...this.list([branch], native),
      added(' }'),
    ];
    const steps = [this.facts.flow.after.get(node)];
    const pieces = this.call(
      'branch',
      node,
      this.site(node),
      this.argument(node.test, 'test'),
      arm(node.consequent),
      node.alternate ? arm(node.alternate) : 'undefined',
      this.variables([node.consequent, node.alternate], this.facts.scopeAround(node), steps),
    );
    return [...pieces, added(';')];
  }

  /** A statement that no jump leaves, as a call. */
  #called(node: t.Node): readonly Piece[] {
    const place = { next: null, ends: this.stepsAfter(node) };
    return [...this.#escaping(node, [added('undefined')], place), added(';')];
  }
}
