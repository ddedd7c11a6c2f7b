import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import type { Scopes } from '../syntax/scopes.js';
import { isTypeOnly } from '../syntax/walk.js';
import { ExpressionFlow } from './expressions.js';
import type { FlowGraph } from './flow-graph.js';
import { FlowWriter } from './writer.js';

/** Targets of `break` and `continue` of a statement, and the number of `finally`s outside of it. */
interface JumpTarget {
  readonly labels: readonly string[];
  readonly breakTo: NodeId;
  /** Null where only a labeled `break` may leave: blocks. */
  readonly continueTo: NodeId | null;
  readonly isBreakable: boolean;
  readonly depth: number;
}

/** A `finally` in force: jumps go through it. */
interface Finalizer {
  readonly entry: NodeId;
  /** Steps at which control goes on after it, besides the one where it ends normally. */
  readonly exits: Set<NodeId>;
}

/**
 * The flow graph of a function, or of a program. Functions inside are values: what they read and write is
 * not part of it. Inside `try` every step may throw; a `finally` leads to wherever any jump through it leads.
 */
export function buildFlowGraph(node: t.Function | t.Program, scopes: Scopes): FlowGraph {
  return new FlowGraphBuilder(scopes).build(node);
}

class FlowGraphBuilder {
  readonly #writer: FlowWriter;
  readonly #expressions: ExpressionFlow;
  readonly #heads = new Map<t.Node, NodeId>();
  readonly #nexts = new Map<t.Node, NodeId>();
  readonly #exit: NodeId;
  readonly #raised: NodeId;
  readonly #targets: JumpTarget[] = [];
  #finalizers: readonly Finalizer[] = [];
  /** Labels just before a loop, which are its own. */
  #labels: readonly string[] = [];

  constructor(scopes: Scopes) {
    this.#writer = new FlowWriter(scopes);
    this.#expressions = new ExpressionFlow(this.#writer);
    this.#exit = this.#writer.graph.addNode({ kind: 'exit' });
    this.#raised = this.#writer.graph.addNode({ kind: 'raise' });
  }

  build(node: t.Function | t.Program): FlowGraph {
    if (node.type === 'Program') this.#statements(node.body);
    else {
      for (const parameter of node.params) this.#expressions.bind(parameter);
      if (node.body.type === 'BlockStatement') this.#statements(node.body.body);
      else this.#expressions.expression(node.body);
    }
    this.#writer.edge(this.#writer.at, this.#exit, 'next');
    return {
      graph: this.#writer.graph,
      entry: this.#writer.entry,
      exit: this.#exit,
      raised: this.#raised,
      after: this.#writer.after,
      heads: this.#heads,
      nexts: this.#nexts,
    };
  }

  #jump(to: NodeId, depth: number): void {
    const through = this.#finalizers.slice(depth);
    // From the outside in: each leads to the one around it, and the outermost to the target.
    let target = to;
    for (const finalizer of through) {
      finalizer.exits.add(target);
      target = finalizer.entry;
    }
    this.#writer.edge(this.#writer.at, target, 'jump');
    this.#writer.unreachable();
  }

  #statements(nodes: readonly t.Node[]): void {
    // Functions are there before the first statement runs.
    for (const node of nodes) {
      if (node.type === 'FunctionDeclaration' && node.id) this.#writer.write(node.id, node);
    }
    for (const node of nodes) this.#statement(node);
  }

  #statement(node: t.Node): void {
    const labels = this.#labels;
    this.#labels = [];
    if (isTypeOnly(node)) return;
    switch (node.type) {
      case 'BlockStatement':
        this.#breakable(node, labels, () => this.#statements(node.body));
        return;
      case 'LabeledStatement': {
        this.#labels = [...labels, node.label.name];
        const isOwn = loops.has(node.body.type) || node.body.type === 'LabeledStatement';
        if (isOwn || node.body.type === 'BlockStatement' || node.body.type === 'SwitchStatement') {
          return this.#statement(node.body);
        }
        const own = this.#labels;
        this.#labels = [];
        return this.#breakable(node, own, () => this.#statement(node.body));
      }
      case 'IfStatement':
        this.#writer.branch(
          node,
          () => this.#expressions.test(node.test),
          () => this.#statement(node.consequent),
          () => node.alternate && this.#statement(node.alternate),
        );
        return;
      case 'WhileStatement':
        return this.#loop(node, labels, {
          test: () => this.#expressions.test(node.test),
          body: () => this.#statement(node.body),
        });
      case 'DoWhileStatement':
        return this.#loop(node, labels, {
          body: () => this.#statement(node.body),
          update: () => this.#expressions.test(node.test),
          isTestLast: true,
        });
      case 'ForStatement': {
        if (node.init) this.#declarationOrExpression(node.init);
        const { test, update } = node;
        return this.#loop(node, labels, {
          ...(test && { test: () => this.#expressions.test(test) }),
          body: () => this.#statement(node.body),
          ...(update && { update: () => this.#expressions.expression(update) }),
        });
      }
      case 'ForInStatement':
      case 'ForOfStatement':
        this.#expressions.expression(node.right);
        return this.#loop(node, labels, {
          test: () => this.#writer.add({ kind: 'test', node }),
          body: () => {
            const { left } = node;
            this.#expressions.bind(
              left.type === 'VariableDeclaration' ? left.declarations[0].id : left,
            );
            this.#statement(node.body);
          },
        });
      case 'SwitchStatement':
        return this.#switch(node, labels);
      case 'TryStatement':
        return this.#try(node);
      case 'ReturnStatement':
        if (node.argument) this.#expressions.expression(node.argument);
        return this.#jump(this.#exit, 0);
      case 'ThrowStatement':
        this.#expressions.expression(node.argument);
        this.#writer.edge(this.#writer.at, this.#writer.handler ?? this.#raised, 'throw');
        return this.#writer.unreachable();
      case 'BreakStatement':
      case 'ContinueStatement': {
        const target = this.#jumpTarget(node);
        const to = node.type === 'BreakStatement' ? target?.breakTo : target?.continueTo;
        if (target !== undefined && to !== undefined && to !== null) this.#jump(to, target.depth);
        return;
      }
      default:
        return this.#declarationOrExpression(node);
    }
  }

  #jumpTarget(node: t.BreakStatement | t.ContinueStatement): JumpTarget | undefined {
    const { label } = node;
    return this.#targets.findLast((target) => {
      if (label) return target.labels.includes(label.name);
      return node.type === 'BreakStatement' ? target.isBreakable : target.continueTo !== null;
    });
  }

  #breakable(node: t.Node, labels: readonly string[], inside: () => void): void {
    if (labels.length === 0) return inside();
    const after = this.#writer.join(node);
    this.#within({ labels, breakTo: after, continueTo: null, isBreakable: false }, inside);
    this.#writer.goTo(after);
    this.#writer.after.set(node, after);
  }

  #within(target: Omit<JumpTarget, 'depth'>, inside: () => void): void {
    this.#targets.push({ ...target, depth: this.#finalizers.length });
    inside();
    this.#targets.pop();
  }

  #loop(
    node: t.Node,
    labels: readonly string[],
    parts: {
      readonly test?: () => void;
      readonly body: () => void;
      readonly update?: () => void;
      readonly isTestLast?: boolean;
    },
  ): void {
    const head = this.#writer.join(node);
    const after = this.#writer.join(node);
    const next = this.#writer.join(node);
    this.#writer.goTo(head);
    this.#heads.set(node, head);
    this.#nexts.set(node, next);
    if (parts.test) {
      parts.test();
      this.#writer.edge(this.#writer.at, after, 'false');
      this.#writer.add({ kind: 'join' }, 'true');
    }
    this.#within({ labels, breakTo: after, continueTo: next, isBreakable: true }, parts.body);
    this.#writer.goTo(next);
    parts.update?.();
    if (parts.isTestLast) this.#writer.edge(this.#writer.at, after, 'false');
    this.#writer.edge(this.#writer.at, head, parts.isTestLast ? 'true' : 'next');
    this.#writer.at = after;
    this.#writer.after.set(node, after);
  }

  #switch(node: t.SwitchStatement, labels: readonly string[]): void {
    this.#expressions.expression(node.discriminant);
    const after = this.#writer.join(node);
    const bodies = node.cases.map(() => this.#writer.join());
    node.cases.forEach(({ test }, i) => {
      if (!test) return;
      this.#expressions.expression(test);
      this.#writer.add({ kind: 'test', node: test });
      this.#writer.edge(this.#writer.at, bodies[i], 'true');
      this.#writer.add({ kind: 'join' }, 'false');
    });
    const standard = node.cases.findIndex(({ test }) => !test);
    this.#writer.edge(this.#writer.at, standard < 0 ? after : bodies[standard], 'next');
    this.#writer.unreachable();
    this.#within({ labels, breakTo: after, continueTo: null, isBreakable: true }, () => {
      node.cases.forEach(({ consequent }, i) => {
        this.#writer.goTo(bodies[i]);
        this.#statements(consequent);
      });
    });
    this.#writer.goTo(after);
    this.#writer.after.set(node, after);
  }

  #try(node: t.TryStatement): void {
    const outerHandler = this.#writer.handler;
    const outerFinalizers = this.#finalizers;
    const after = this.#writer.join(node);
    let finalizer: Finalizer | null = null;
    if (node.finalizer) {
      finalizer = { entry: this.#writer.join(), exits: new Set() };
      this.#finalizers = [...outerFinalizers, finalizer];
    }
    const caught = node.handler ? this.#writer.join() : null;
    const thrown = finalizer?.entry ?? outerHandler;
    // What the handler itself throws goes to the finalizer.
    this.#writer.handler = caught ?? thrown;
    this.#writer.add({ kind: 'join' });
    this.#statements(node.block.body);
    this.#writer.handler = thrown;
    const ends = [this.#writer.at];
    if (node.handler && caught !== null) {
      if (thrown !== null) this.#writer.edge(caught, thrown, 'throw');
      this.#writer.at = caught;
      if (node.handler.param) this.#expressions.bind(node.handler.param);
      this.#statements(node.handler.body.body);
      ends.push(this.#writer.at);
    }
    this.#writer.handler = outerHandler;
    this.#finalizers = outerFinalizers;
    if (finalizer !== null && node.finalizer) {
      for (const end of ends) this.#writer.edge(end, finalizer.entry, 'next');
      this.#writer.at = finalizer.entry;
      this.#statements(node.finalizer.body);
      for (const exit of finalizer.exits) this.#writer.edge(this.#writer.at, exit, 'jump');
      this.#writer.edge(this.#writer.at, outerHandler ?? this.#raised, 'throw');
      this.#writer.goTo(after);
    } else {
      for (const end of ends) this.#writer.edge(end, after, 'next');
      this.#writer.at = after;
    }
    this.#writer.after.set(node, after);
  }

  #declarationOrExpression(node: t.Node): void {
    if (node.type === 'VariableDeclaration') {
      for (const { id, init } of node.declarations) {
        if (init) this.#expressions.expression(init);
        // A `var` without a value leaves the variable as it is.
        if (init || node.kind !== 'var') this.#expressions.bind(id);
      }
    } else if (node.type === 'ClassDeclaration') {
      this.#expressions.class(node);
      if (node.id) this.#writer.write(node.id, node);
    } else this.#expressions.expression(node);
  }
}

const loops: ReadonlySet<string> = new Set([
  'WhileStatement',
  'DoWhileStatement',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
]);
