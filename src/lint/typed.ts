import type { ArrayTest } from './local.js';
import type { Node } from './linter.js';

/** The part of TypeScript's types that the rule asks about. */
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

/** What typescript-eslint's parser offers when it was given a project. */
interface TypedServices {
  readonly program: {
    getTypeChecker(): Checker;
    getCompilerOptions(): { readonly strict?: boolean; readonly strictNullChecks?: boolean };
  };
  readonly esTreeNodeToTSNodeMap: { get(node: Node): object };
}

/**
 * The test that asks the type checker. Null where the file was parsed without types, or where the types do
 * not tell an array from one that may be missing.
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
    // The property tells Kaon's class from others of the name.
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
