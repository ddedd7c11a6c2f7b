import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typedArrayTest } from '../../src/lint/typed.js';

/** Types as TypeScript's checker describes them. */
interface Type {
  readonly kind: 'union' | 'intersection' | 'parameter' | 'other';
  readonly types?: readonly Type[];
  readonly constraint?: Type;
  readonly symbol?: { readonly name: string };
  readonly members: readonly string[];
}

const plain = (name: string, ...members: readonly string[]): Type => ({
  kind: 'other',
  symbol: { name },
  members,
});
const ndarray = plain('NDArray', 'add', 'attachGrad');
const missing: Type = { kind: 'other', members: [] };
const union = (...types: readonly Type[]): Type => ({ kind: 'union', types, members: [] });

interface Options {
  readonly strict?: boolean;
  readonly strictNullChecks?: boolean;
}

/** typescript-eslint's parser services, for a file whose nodes are of `type`. */
function servicesFor(type: Type, options: Options = { strict: true }): unknown {
  const described = (each: Type): object => ({
    symbol: each.symbol,
    types: each.types?.map(described),
    isUnion: () => each.kind === 'union',
    isIntersection: () => each.kind === 'intersection',
    isTypeParameter: () => each.kind === 'parameter',
    getProperty: (name: string) => (each.members.includes(name) ? {} : undefined),
    constraint: each.constraint,
  });
  const checker = {
    getTypeAtLocation: () => described(type),
    getBaseConstraintOfType: ({ constraint }: Type) => constraint && described(constraint),
  };
  return {
    program: { getTypeChecker: () => checker, getCompilerOptions: () => options },
    esTreeNodeToTSNodeMap: new Map(),
  };
}

const reports = (type: Type): boolean => typedArrayTest(servicesFor(type))!({ type: 'Identifier' });

test('a type is an array when each of its values is one', () => {
  assert.equal(reports(ndarray), true);
  assert.equal(reports(union(ndarray, ndarray)), true);
  assert.equal(
    reports({ kind: 'intersection', types: [ndarray, plain('Tag')], members: [] }),
    true,
  );
  assert.equal(reports({ kind: 'parameter', constraint: ndarray, members: [] }), true);
});

test('what may be missing or something else is no array, nor is another class of the name', () => {
  assert.equal(reports(union(ndarray, missing)), false);
  assert.equal(reports(plain('Number')), false);
  assert.equal(reports(plain('NDArray', 'add')), false);
  assert.equal(reports({ kind: 'parameter', members: [] }), false);
  assert.equal(reports(missing), false);
});

test('without types, or without strict null checks, types are not asked', () => {
  assert.equal(typedArrayTest(undefined), null);
  assert.equal(typedArrayTest({}), null);
  assert.equal(typedArrayTest({ program: null }), null);
  assert.equal(typedArrayTest(servicesFor(ndarray, { strict: false })), null);
  assert.equal(
    typedArrayTest(servicesFor(ndarray, { strict: true, strictNullChecks: false })),
    null,
  );
  assert.notEqual(typedArrayTest(servicesFor(ndarray, {})), null);
});
