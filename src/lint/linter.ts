/**
 * The part of ESLint's plugin interface that the rule uses, which oxlint offers as well. Declared here so
 * that the package depends on neither.
 */

/** A node of the syntax tree: ESTree's, and TSESTree's where the file is TypeScript. */
export interface SyntaxNode {
  readonly type: string;
  readonly parent?: SyntaxNode | null;
}

export interface Identifier extends SyntaxNode {
  readonly type: 'Identifier';
  readonly name: string;
  readonly optional?: boolean;
  readonly typeAnnotation?: { readonly typeAnnotation: SyntaxNode } | null;
}

export interface Reference {
  readonly identifier: SyntaxNode;
  isWrite(): boolean;
}

export interface Definition {
  readonly type: string;
  /** Declaration of the name. */
  readonly node: SyntaxNode;
  readonly parent?: SyntaxNode | null;
  readonly name: Identifier;
}

export interface Variable {
  readonly defs: readonly Definition[];
  readonly references: readonly Reference[];
}

export interface LinterScope {
  readonly set: ReadonlyMap<string, Variable>;
  readonly upper: LinterScope | null;
}

export interface SourceCode {
  getScope(node: SyntaxNode): LinterScope;
  /** Services of the parser beyond syntax; typescript-eslint's has types. */
  readonly parserServices?: unknown;
}

export interface Context {
  readonly sourceCode: SourceCode;
  readonly options: readonly unknown[];
  report(problem: {
    readonly node: SyntaxNode;
    readonly messageId: string;
    readonly data?: Readonly<Record<string, string>>;
  }): void;
}

/** Functions by the type of node they are called with. */
export type Visitors = Readonly<Record<string, (node: SyntaxNode) => void>>;

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
