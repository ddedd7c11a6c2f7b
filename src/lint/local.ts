import type {
  Definition,
  Identifier,
  SyntaxNode,
  LinterScope,
  SourceCode,
  Variable,
} from './linter.js';
import { arrayFunctions, arrayMethods } from './vocabulary.js';

/** Predicate: true for expressions that certainly are arrays. */
export type ArrayTest = (node: SyntaxNode) => boolean;

/** Node types that the analysis handles; others are unknown, so never arrays. */
type Known =
  | Identifier
  | Of<'CallExpression', { callee: SyntaxNode }>
  | Member
  | Of<'ConditionalExpression', { consequent: SyntaxNode; alternate: SyntaxNode }>
  | Of<'LogicalExpression', { left: SyntaxNode; right: SyntaxNode }>
  | Of<'AssignmentExpression', { operator: string; left: SyntaxNode; right: SyntaxNode }>
  | Of<'UpdateExpression', object>
  | Of<'SequenceExpression', { expressions: readonly SyntaxNode[] }>
  | Of<'TSNonNullExpression' | 'TSSatisfiesExpression', { expression: SyntaxNode }>
  | Of<'TSAsExpression', { typeAnnotation: SyntaxNode }>
  | Of<'TSTypeReference', { typeName: SyntaxNode }>
  | Of<'TSQualifiedName', { left: SyntaxNode; right: Identifier }>
  | Of<'VariableDeclarator', { id: SyntaxNode; init?: SyntaxNode | null }>
  | Of<'ImportDeclaration', { source: { readonly value: unknown } }>
  | Of<'ImportSpecifier', { imported: { readonly name?: string; readonly value?: string } }>
  | Of<'ImportNamespaceSpecifier', object>;

type Of<T extends string, Fields> = { readonly type: T } & Readonly<Fields> &
  Omit<SyntaxNode, 'type'>;
type Member = Of<
  'MemberExpression',
  { object: SyntaxNode; property: SyntaxNode; computed: boolean }
>;

/** Assignments that do not throw on arrays. */
const assigning: ReadonlySet<string> = new Set(['=', '&&=', '||=', '??=']);

const known = (node: SyntaxNode): Known => node as Known;

/**
 * Array test for files without type information, from the contents of one file: calls of functions imported
 * from Kaon, method chains on their results, annotations. An expression that might be anything else,
 * undefined above all, is not an array.
 *
 * @param modules Suffixes of further module paths to treat as Kaon.
 */
export function localArrayTest(sourceCode: SourceCode, modules: readonly string[]): ArrayTest {
  const settled = new Map<Variable, boolean>();
  const assumed = new Set<Variable>();

  const variableOf = (node: Identifier): Variable | undefined => {
    for (
      let scope: LinterScope | null = sourceCode.getScope(node);
      scope !== null;
      scope = scope.upper
    ) {
      const variable = scope.set.get(node.name);
      if (variable !== undefined) return variable;
    }
    return undefined;
  };

  /** `['random', 'normal']` for `kn.random.normal` or an imported `random.normal`; undefined for all else. */
  const pathOf = (given: SyntaxNode): readonly string[] | undefined => {
    const node = known(given);
    switch (node.type) {
      case 'Identifier': {
        const variable = variableOf(node);
        return variable?.defs.length === 1 ? importedPath(variable.defs[0]) : undefined;
      }
      case 'MemberExpression': {
        const name = propertyName(node);
        const path = name === undefined ? undefined : pathOf(node.object);
        return path && [...path, name!];
      }
      case 'TSQualifiedName': {
        const path = pathOf(node.left);
        return path && [...path, node.right.name];
      }
      default:
        return undefined;
    }
  };

  const importedPath = ({ node, parent }: Definition): readonly string[] | undefined => {
    const declaration = known(parent ?? node);
    if (declaration.type !== 'ImportDeclaration') return undefined;
    const from = String(declaration.source.value);
    if (from !== 'kaon' && !modules.some((module) => from.endsWith(module))) return undefined;
    const specifier = known(node);
    if (specifier.type === 'ImportNamespaceSpecifier') return [];
    if (specifier.type !== 'ImportSpecifier') return undefined;
    const { name, value } = specifier.imported;
    return [name ?? value!];
  };

  const isArrayType = (annotation: SyntaxNode): boolean => {
    const node = known(annotation);
    return node.type === 'TSTypeReference' && pathOf(node.typeName)?.join('.') === 'NDArray';
  };

  const variableIsArray = (variable: Variable): boolean => {
    const before = settled.get(variable);
    if (before !== undefined) return before;
    // `x = x.add(1)` is an array if the other values of `x` are.
    if (assumed.has(variable) || variable.defs.length !== 1) return assumed.has(variable);
    assumed.add(variable);
    const is = definesArray(variable, variable.defs[0]);
    assumed.delete(variable);
    if (assumed.size === 0) settled.set(variable, is); // else it may rest on an assumption
    return is;
  };

  const definesArray = (variable: Variable, { type, node, name }: Definition): boolean => {
    if (name.typeAnnotation) {
      return name.optional !== true && isArrayType(name.typeAnnotation.typeAnnotation);
    }
    const declarator = known(node);
    if (type !== 'Variable' || declarator.type !== 'VariableDeclarator') return false;
    // A variable without an initializer may legitimately be tested for a value.
    if (!declarator.init || declarator.id !== name) return false;
    return variable.references
      .filter((reference) => reference.isWrite())
      .every(({ identifier }) => keepsArray(identifier));
  };

  /** True when a variable that holds an array still does after this write. */
  const keepsArray = (identifier: SyntaxNode): boolean => {
    const write = known(identifier.parent!);
    switch (write.type) {
      case 'VariableDeclarator':
        return !!write.init && isArray(write.init);
      case 'AssignmentExpression':
        return (
          write.left === identifier && (!assigning.has(write.operator) || isArray(write.right))
        );
      default:
        return write.type === 'UpdateExpression';
    }
  };

  const isArray: ArrayTest = (given) => {
    const node = known(given);
    switch (node.type) {
      case 'Identifier': {
        const variable = variableOf(node);
        return variable !== undefined && variableIsArray(variable);
      }
      case 'CallExpression': {
        const path = pathOf(node.callee);
        if (path !== undefined) return arrayFunctions.has(path.join('.'));
        const callee = known(node.callee);
        if (callee.type !== 'MemberExpression') return false;
        const name = propertyName(callee);
        return name !== undefined && arrayMethods.has(name) && isArray(callee.object);
      }
      case 'ConditionalExpression':
        return isArray(node.consequent) && isArray(node.alternate);
      case 'LogicalExpression':
        return isArray(node.left) && isArray(node.right);
      case 'AssignmentExpression':
        if (node.operator !== '=' && !isArray(node.left)) return false;
        return assigning.has(node.operator) && isArray(node.right);
      case 'SequenceExpression':
        return isArray(node.expressions.at(-1)!);
      case 'TSNonNullExpression':
      case 'TSSatisfiesExpression':
        return isArray(node.expression);
      case 'TSAsExpression':
        return isArrayType(node.typeAnnotation);
      default:
        return false;
    }
  };
  return isArray;
}

/** The name in `x.name`; unknown in `x[name]`. */
function propertyName({ computed, property }: Member): string | undefined {
  return computed ? undefined : (property as Identifier).name;
}
