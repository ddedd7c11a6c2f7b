import type * as t from '@babel/types';
import { isFunction, isTypeOnly, unwrapped } from '../syntax/walk.js';
import { CapturedExpressions } from './captured-expressions.js';
import type { FileContext, Use } from './form.js';
import type { FunctionFacts } from '../flow/function-facts.js';
import { HostForm } from './host.js';
import { added, type Piece } from './output.js';
import { suspensionIn, suspensionKeyword } from '../syntax/shape.js';

/**
 * Expressions of async functions and generators in the captured form. What contains `await` or `yield` cannot be put
 * into a closure: it stays JavaScript's own, and a captured array that decides about it is an error that names it.
 */
export abstract class SuspendingExpressions extends CapturedExpressions {
  /** True for the body of an async function or of a generator. */
  readonly suspends: boolean;
  /** Names for values that are tested and given; null where nothing can declare them. */
  readonly #temporaries: string[] | null;
  readonly #host: HostForm;

  constructor(file: FileContext, facts: FunctionFacts, suspends: boolean, mayDeclare: boolean) {
    super(file, facts);
    this.suspends = suspends;
    this.#temporaries = mayDeclare ? [] : null;
    this.#host = new HostForm(file, true, mayDeclare);
  }

  /** The name of the function's record of its suspensions. */
  get #suspensions(): string {
    return `${this.file.runtime}_suspensions`;
  }

  /** Enters the block of a `try`, or leaves it. */
  guarding(by: 1 | -1): string {
    return `${this.file.runtime}.guardWith(${this.#suspensions}, ${by}); `;
  }

  /** Declarations that the code so far needs, for the start of the body. */
  declarations(): string {
    if (!this.suspends) return '';
    const names = this.#temporaries?.length ? `let ${this.#temporaries.join(', ')}; ` : '';
    const host = this.#host.declarations();
    return `const ${this.#suspensions} = ${this.file.runtime}.suspensions(); ${names}${host} `;
  }

  override expression(node: t.Node, use: Use = 'value'): readonly Piece[] {
    const isOwn = this.suspends && !isTypeOnly(node) && !isFunction(node);
    return (isOwn ? this.#suspending(node, use) : null) ?? super.expression(node, use);
  }

  /** An expression with a suspension in it; null for what can be written as in other functions. */
  #suspending(node: t.Node, use: Use): readonly Piece[] | null {
    switch (node.type) {
      case 'AwaitExpression':
      case 'YieldExpression':
        return this.#suspension(node);
      case 'ConditionalExpression': {
        const inside = suspensionIn(node.consequent) ?? suspensionIn(node.alternate);
        if (inside === null) return null;
        return this.copy(node, (child) =>
          child === node.test
            ? this.#test(node, this.argument(child), inside)
            : this.expression(child, use),
        );
      }
      case 'LogicalExpression': {
        const inside = node.operator === '??' ? null : suspensionIn(node.right);
        return inside === null ? null : this.#logical(node, inside, use);
      }
      case 'AssignmentExpression': {
        const inside = node.operator === '=' ? null : suspensionIn(node.right);
        return inside === null ? null : this.#assignment(node, inside);
      }
      default:
        return null;
    }
  }

  /** The record is told when the function suspends and when it goes on. */
  #suspension(node: t.AwaitExpression | t.YieldExpression): readonly Piece[] {
    if (this.#temporaries === null) return this.copy(node);
    const keyword = node.type === 'AwaitExpression' ? 'await' : node.delegate ? 'yield*' : 'yield';
    const value = node.argument ? this.argument(node.argument) : 'undefined';
    return this.call('resumed', node, this.#suspensions, this.site(node), [
      added(`${keyword} `, node.start!),
      ...this.call('suspended', node, this.#suspensions, value),
    ]);
  }

  #test(node: t.Node, value: string | readonly Piece[], inside: t.Node): readonly Piece[] {
    return this.call('test', node, value, this.site(inside), `'${suspensionKeyword(inside)}'`);
  }

  #logical(node: t.LogicalExpression, inside: t.Node, use: Use): readonly Piece[] {
    const { left, right, operator } = node;
    const [value, after] = [this.argument(left), this.argument(right)];
    if (use === 'none') return [...this.#test(node, value, inside), added(` ${operator} (`), ...after, added(')')]; // prettier-ignore
    const choice = (name: string): readonly Piece[] => [
      ...this.#test(node, name, inside),
      ...(operator === '&&'
        ? [added(' ? ('), ...after, added(`) : ${name}`)]
        : [added(` ? ${name} : (`), ...after, added(')')]),
    ];
    const name = this.newName();
    if (this.#temporaries === null) {
      // Only arrows have an expression as their body, and those that suspend are async.
      // In a list, since a promise that is a result itself would be waited for.
      return [added(`(await (async (${name}) => [`), ...choice(name), added('])('), ...value, added('))[0]')]; // prettier-ignore
    }
    this.#temporaries.push(name);
    return [added(`((${name} = (`), ...value, added(')), '), ...choice(name), added(')')];
  }

  #assignment(node: t.AssignmentExpression, inside: t.Node): readonly Piece[] | null {
    const { operator, right } = node;
    const target = unwrapped(node.left);
    const isLogical = operator === '||=' || operator === '&&=';
    if (target.type === 'Identifier') {
      if (!isLogical) return null;
      const { name } = target;
      const assigned = [added(`(${name} = `), ...this.argument(right), added(')')];
      const arms = operator === '&&=' ? [...assigned, added(` : ${name})`)] : [added(`${name} : `), ...assigned, added(')')]; // prettier-ignore
      return [added('('), ...this.#test(node, name, inside), added(' ? '), ...arms];
    }
    if (isLogical) return this.#host.expression(node);
    // JavaScript reads the member before the function suspends; an array there has no arithmetic.
    return this.copy(node, (child) =>
      child === node.left ? this.target(child) : this.expression(child),
    );
  }
}
