/**
 * The part of ESLint's plugin interface that the rule uses, which oxlint offers as well. Declared here so
 * that the package depends on neither.
 */

/** A node of the syntax tree: ESTree's, and TSESTree's where the file is TypeScript. */
export interface Node {
  readonly type: string;
  readonly parent?: Node | null;
}

export interface Identifier extends Node {
  readonly type: 'Identifier';
  readonly name: string;
  readonly optional?: boolean;
  readonly typeAnnotation?: { readonly typeAnnotation: Node } | null;
}

export interface Reference {
  readonly identifier: Node;
  isWrite(): boolean;
}

export interface Definition {
  readonly type: string;
  /** Declaration of the name. */
  readonly node: Node;
  readonly parent?: Node | null;
  readonly name: Identifier;
}

export interface Variable {
  readonly defs: readonly Definition[];
  readonly references: readonly Reference[];
}

export interface Scope {
  readonly set: ReadonlyMap<string, Variable>;
  readonly upper: Scope | null;
}

export interface SourceCode {
  getScope(node: Node): Scope;
  /** Services of the parser beyond syntax; typescript-eslint's has types. */
  readonly parserServices?: unknown;
}

export interface Context {
  readonly sourceCode: SourceCode;
  readonly options: readonly unknown[];
  report(problem: {
    readonly node: Node;
    readonly messageId: string;
    readonly data?: Readonly<Record<string, string>>;
  }): void;
}

/** Functions by the type of node they are called with. */
export type Visitors = Readonly<Record<string, (node: Node) => void>>;

/** A rule in the form in which the types of ESLint and of oxlint accept it. */
export interface Rule {
  readonly meta: {
    readonly type: 'problem';
    readonly docs: { readonly description: string };
    readonly messages: Record<string, string>;
    readonly schema: object[];
  };
  /** Takes a `Context`; each linter has its own type for it. */
  create(context: unknown): Visitors;
}
