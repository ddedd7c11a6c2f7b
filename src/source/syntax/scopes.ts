import type * as t from '@babel/types';
import { childrenOf, isClass, isFunction, isTypeOnly } from './walk.js';

/** The kind of declaration of a name. `free` names are declared nowhere in the file. */
export type BindingKind =
  'parameter' | 'var' | 'let' | 'const' | 'function' | 'class' | 'catch' | 'import' | 'free';

/** A variable: what a name stands for in a scope. */
export interface VariableBinding {
  readonly name: string;
  readonly kind: BindingKind;
  readonly scope: Scope;
  readonly references: VariableReference[];
  /** The offset of its declaration in the text; -1 for names from outside of the file. */
  readonly declaredAt: number;
}

/** An occurrence of a variable's name. */
export interface VariableReference {
  readonly identifier: Name;
  readonly binding: VariableBinding;
  readonly reads: boolean;
  readonly writes: boolean;
  /** The scope it occurs in. */
  readonly from: Scope;
}

export type Name = t.Identifier | t.JSXIdentifier;

export interface Scope {
  readonly node: t.Node;
  readonly parent: Scope | null;
  /** The scope of the nearest function around, or of the program. */
  readonly owner: Scope;
  readonly bindings: Map<string, VariableBinding>;
}

/** The variables of a file and where they are used. */
export interface Scopes {
  readonly root: Scope;
  /** By the node that opens the scope. */
  readonly of: ReadonlyMap<t.Node, Scope>;
  readonly references: ReadonlyMap<t.Node, VariableReference>;
}

/** True if a function inside the variable's own function uses it, so that it outlives the code around. */
export function isCaptured({ scope, references }: VariableBinding): boolean {
  return references.some(({ from }) => from.owner !== scope.owner);
}

/** Resolves every name of a file: declarations are hoisted as the language says, inner names hide enclosing ones. */
export function resolveScopes(program: t.Program): Scopes {
  return new Resolver(program).scopes;
}

type Use = 'read' | 'write' | 'both';

class Resolver {
  readonly scopes: Scopes;
  readonly #of = new Map<t.Node, Scope>();
  readonly #references = new Map<t.Node, VariableReference>();
  readonly #root: Scope;
  #scope: Scope;

  constructor(program: t.Program) {
    this.#scope = this.#root = this.#open(program, null, true);
    this.scopes = { root: this.#root, of: this.#of, references: this.#references };
    this.#declareVars(program.body);
    this.#declareLexical(program.body);
    for (const statement of program.body) this.#visit(statement);
  }

  #open(node: t.Node, parent: Scope | null, isOwner: boolean): Scope {
    const scope: { -readonly [K in keyof Scope]: Scope[K] } = {
      node,
      parent,
      owner: parent?.owner ?? (undefined as never),
      bindings: new Map(),
    };
    if (isOwner) scope.owner = scope;
    this.#of.set(node, scope);
    return scope;
  }

  #within(node: t.Node, isOwner: boolean, visit: () => void): void {
    const enclosing = this.#scope;
    this.#scope = this.#open(node, enclosing, isOwner);
    visit();
    this.#scope = enclosing;
  }

  #declare(
    name: string,
    kind: BindingKind,
    { start = -1 }: { readonly start?: number | null } = {},
    scope: Scope = this.#scope,
  ): void {
    if (scope.bindings.has(name)) return;
    scope.bindings.set(name, { name, kind, scope, references: [], declaredAt: start ?? -1 });
  }

  #refer(identifier: Name, use: Use): void {
    let at: Scope | null = this.#scope;
    while (at !== null && !at.bindings.has(identifier.name)) at = at.parent;
    if (at === null) this.#declare(identifier.name, 'free', {}, this.#root);
    const binding = (at ?? this.#root).bindings.get(identifier.name)!;
    const reference: VariableReference = {
      identifier,
      binding,
      reads: use !== 'write',
      writes: use !== 'read',
      from: this.#scope,
    };
    binding.references.push(reference);
    this.#references.set(identifier, reference);
  }

  /** Declares the `var`s of statements, which belong to the function however deep they are. */
  #declareVars(nodes: readonly t.Node[]): void {
    for (const node of nodes) {
      if (isFunction(node) || isClass(node) || isTypeOnly(node)) continue;
      if (node.type === 'VariableDeclaration' && node.kind === 'var') {
        for (const { id } of node.declarations) this.#declarePattern(id, 'var');
      }
      if (node.type.endsWith('Expression')) continue;
      this.#declareVars(childrenOf(node));
    }
  }

  /** Declares what belongs to a block. */
  #declareLexical(nodes: readonly t.Node[]): void {
    for (const enclosing of nodes) {
      const node =
        (enclosing.type === 'ExportNamedDeclaration' ||
          enclosing.type === 'ExportDefaultDeclaration') &&
        enclosing.declaration
          ? enclosing.declaration
          : enclosing;
      if (node.type === 'VariableDeclaration' && node.kind !== 'var') {
        const kind = node.kind === 'let' ? 'let' : 'const';
        for (const { id } of node.declarations) this.#declarePattern(id, kind);
      } else if (node.type === 'FunctionDeclaration' && node.id) {
        this.#declare(node.id.name, 'function', node.id);
      } else if (node.type === 'ClassDeclaration' && node.id) {
        this.#declare(node.id.name, 'class', node.id);
      } else if (node.type === 'TSEnumDeclaration') {
        this.#declare(node.id.name, 'const', node.id);
      } else if (node.type === 'ImportDeclaration') {
        for (const { local } of node.specifiers) this.#declare(local.name, 'import', local);
      }
    }
  }

  #declarePattern(pattern: t.Node, kind: BindingKind): void {
    for (const id of patternNames(pattern)) this.#declare(id.name, kind, id);
  }

  #visitAll(nodes: readonly (t.Node | null | undefined)[]): void {
    for (const node of nodes) if (node) this.#visit(node);
  }

  #visit(node: t.Node): void {
    if (isTypeOnly(node)) return;
    if ((node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') && node.id) {
      this.#refer(node.id, 'write');
    }
    if (isFunction(node)) return this.#visitFunction(node);
    if (isClass(node)) return this.#visitClass(node);
    switch (node.type) {
      case 'Identifier':
        return this.#refer(node, 'read');
      case 'JSXIdentifier':
        return;
      case 'JSXOpeningElement':
      case 'JSXClosingElement':
        this.#visitElementName(node.name);
        if (node.type === 'JSXOpeningElement') this.#visitAll(node.attributes);
        return;
      case 'JSXAttribute':
        return this.#visitAll([node.value]);
      case 'MemberExpression':
      case 'OptionalMemberExpression':
        return this.#visitAll([node.object, node.computed ? node.property : null]);
      case 'ObjectProperty':
        return this.#visitAll([node.computed ? node.key : null, node.value]);
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'MetaProperty':
      case 'ImportDeclaration':
        return;
      case 'ExportSpecifier':
        if (node.local.type === 'Identifier') this.#refer(node.local, 'read');
        return;
      case 'LabeledStatement':
        return this.#visit(node.body);
      case 'BlockStatement':
      case 'TSModuleBlock':
        return this.#within(node, false, () => {
          this.#declareLexical(node.body);
          this.#visitAll(node.body);
        });
      case 'SwitchStatement':
        this.#visit(node.discriminant);
        return this.#within(node, false, () => {
          this.#declareLexical(node.cases.flatMap(({ consequent }) => consequent));
          this.#visitAll(node.cases);
        });
      case 'ForStatement':
        return this.#within(node, false, () => {
          if (node.init) this.#declareLexical([node.init]);
          this.#visitAll([node.init, node.test, node.update, node.body]);
        });
      case 'ForInStatement':
      case 'ForOfStatement':
        return this.#within(node, false, () => {
          this.#declareLexical([node.left]);
          this.#visit(node.right);
          if (node.left.type === 'VariableDeclaration') {
            this.#assign(node.left.declarations[0].id, 'write');
          } else this.#assign(node.left, 'write');
          this.#visit(node.body);
        });
      case 'CatchClause':
        return this.#within(node, false, () => {
          if (node.param) {
            this.#declarePattern(node.param, 'catch');
            this.#assign(node.param, 'write');
          }
          this.#visit(node.body);
        });
      case 'VariableDeclaration':
        for (const { id, init } of node.declarations) {
          if (init) this.#visit(init);
          this.#assign(id, 'write');
        }
        return;
      case 'AssignmentExpression':
        this.#assign(node.left, node.operator === '=' ? 'write' : 'both');
        return this.#visit(node.right);
      case 'UpdateExpression':
        return this.#assign(node.argument, 'both');
      default:
        return this.#visitAll(childrenOf(node));
    }
  }

  /** Visits the target of an assignment or declaration. */
  #assign(target: t.Node, use: Use): void {
    switch (target.type) {
      case 'Identifier':
        return this.#refer(target, use);
      case 'ObjectPattern':
        for (const property of target.properties) {
          if (property.type === 'RestElement') this.#assign(property.argument, use);
          else {
            if (property.computed) this.#visit(property.key);
            this.#assign(property.value, use);
          }
        }
        return;
      case 'ArrayPattern':
        for (const element of target.elements) if (element) this.#assign(element, use);
        return;
      case 'AssignmentPattern':
        this.#assign(target.left, use);
        return this.#visit(target.right);
      case 'RestElement':
        return this.#assign(target.argument, use);
      case 'TSParameterProperty':
        return this.#assign(target.parameter, use);
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSTypeAssertion':
      case 'ParenthesizedExpression':
        return this.#assign(target.expression, use);
      default:
        return this.#visit(target);
    }
  }

  #visitElementName(name: t.JSXOpeningElement['name']): void {
    if (name.type === 'JSXMemberExpression') {
      let object: t.JSXMemberExpression['object'] = name.object;
      while (object.type === 'JSXMemberExpression') object = object.object;
      this.#refer(object, 'read');
    } else if (name.type === 'JSXIdentifier' && !/^[a-z]/.test(name.name)) {
      this.#refer(name, 'read');
    }
  }

  #visitFunction(node: t.Function): void {
    if ('key' in node && node.computed && node.key) this.#visit(node.key);
    const isNamed = node.type === 'FunctionExpression' && node.id;
    if (!isNamed) return this.#visitFunctionInside(node);
    // The name of a function expression is known inside it only; an identifier stands for its scope.
    this.#within(node.id!, false, () => {
      this.#declare(node.id!.name, 'const', node.id!);
      this.#visitFunctionInside(node);
    });
  }

  #visitFunctionInside(node: t.Function): void {
    this.#within(node, true, () => {
      for (const parameter of node.params) this.#declarePattern(parameter, 'parameter');
      const { body } = node;
      if (body.type === 'BlockStatement') {
        this.#declareVars(body.body);
        this.#declareLexical(body.body);
        // The body shares the scope of the parameters.
        this.#of.set(body, this.#scope);
      }
      for (const parameter of node.params) this.#assign(parameter, 'write');
      if (body.type === 'BlockStatement') this.#visitAll(body.body);
      else this.#visit(body);
    });
  }

  #visitClass(node: t.Class): void {
    this.#within(node, false, () => {
      if (node.id) this.#declare(node.id.name, 'const', node.id);
      this.#visitAll([...(node.decorators ?? []), node.superClass]);
      for (const member of node.body.body) {
        if (member.type === 'StaticBlock') {
          this.#within(member, true, () => {
            this.#declareVars(member.body);
            this.#declareLexical(member.body);
            this.#visitAll(member.body);
          });
        } else if ('computed' in member && member.computed && !isFunction(member)) {
          this.#visit(member.key);
        }
        if ('value' in member && member.value) {
          const { value } = member;
          // Fields are set by a function of their own.
          this.#within(member, true, () => this.#visit(value));
        } else if (isFunction(member)) this.#visit(member);
      }
    });
  }
}

/** The names that a pattern declares. */
export function patternNames(pattern: t.Node): readonly t.Identifier[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        patternNames(property.type === 'RestElement' ? property.argument : property.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? patternNames(element) : []));
    case 'AssignmentPattern':
      return patternNames(pattern.left);
    case 'RestElement':
      return patternNames(pattern.argument);
    case 'TSParameterProperty':
      return patternNames(pattern.parameter);
    default:
      return [];
  }
}
