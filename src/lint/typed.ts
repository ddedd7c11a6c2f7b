import type { ArrayTest } from './local.js';
import type { SyntaxNode } from './linter.js';

/** The part of TypeScript's types that the rule uses. */
interface Type {
  readonly symbol?: { readonly name: string };
  /** Of unions and intersections. */
  readonly types?: readonly Type[];
  isUnion(): boolean;
  isIntersection(): boolean;
  isTypeParameter(): boolean;
  getProperty(name: string): unknown;
}

interface Checker {
  getTypeAtLocation(node: object): Type;
  getBaseConstraintOfType(type: Type): Type | undefined;
}

/** Parser services of typescript-eslint when a project is configured. */
interface TypedServices {
  readonly program: {
    getTypeChecker(): Checker;
    getCompilerOptions(): { readonly strict?: boolean; readonly strictNullChecks?: boolean };
  };
  readonly esTreeNodeToTSNodeMap: { get(node: SyntaxNode): object };
}

/**
 * Array test that asks the type checker. Null when the file was parsed without types, or when the types
 * cannot tell an array from an optional one.
 */
export function typedArrayTest(parserServices: unknown): ArrayTest | null {
  if (!hasTypes(parserServices)) return null;
  const { program, esTreeNodeToTSNodeMap } = parserServices;
  const { strict, strictNullChecks = strict } = program.getCompilerOptions();
  if (strictNullChecks === false) return null;
  const checker = program.getTypeChecker();

  const isArrayType = (type: Type): boolean => {
    if (type.isUnion()) return type.types!.every(isArrayType);
    if (type.isIntersection()) return type.types!.some(isArrayType);
    if (type.isTypeParameter()) {
      const constraint = checker.getBaseConstraintOfType(type);
      return constraint !== undefined && constraint !== type && isArrayType(constraint);
    }
    // The property tells Kaon's class from other classes of the same name.
    return type.symbol?.name === 'NDArray' && type.getProperty('attachGrad') !== undefined;
  };
  return (node) => isArrayType(checker.getTypeAtLocation(esTreeNodeToTSNodeMap.get(node)));
}

function hasTypes(services: unknown): services is TypedServices {
  return (
    typeof services === 'object' &&
    services !== null &&
    'program' in services &&
    typeof services.program === 'object' &&
    services.program !== null
  );
}
