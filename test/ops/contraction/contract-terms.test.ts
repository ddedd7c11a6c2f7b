import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import { einsum } from '../../../src/ops/index.js';
import { declarationOf } from '../../../src/ops/declare/facets.js';
import { decompose } from '../../../src/passes/simplify/decompose.js';
import { programOf } from '../../support/programs.js';

/** For every product of an equation in order, the inputs that it multiplies, in letters `a`, `b` and so on. */
function productsOf(equation: string): readonly string[] {
  const terms = equation.split('->')[0].split(',');
  const inputs = Object.fromEntries(
    terms.map((term, k) => [
      String.fromCodePoint(97 + k),
      { dtype: 'float32', shape: Array.from(term, () => 4) } as const,
    ]),
  );
  const program = decompose(
    programOf(inputs, (values) => ({ y: einsum<Value>(equation, ...Object.values(values)) })),
  );
  const factors = new Map<number, string>();
  const products: string[] = [];
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') factors.set(id, node.name);
    if (node.kind !== 'call') continue;
    const read = program.operands(id).map((value) => factors.get(value.node)!);
    factors.set(id, [...read.join('')].sort().join(''));
    const { family } = declarationOf(node.op);
    if (read.length === 2 && (family === 'contraction' || family === 'elementwise')) products.push(read.toSorted().join(' ')); // prettier-ignore
  }
  return products;
}

test('the product over the fewest axes is first, then the one that leaves the fewest', () => {
  // Two axes at once, where each of the others with c takes three.
  assert.deepEqual(productsOf('ij,ij,jk->ik'), ['a b', 'ab c']);
  assert.deepEqual(productsOf('ij,jk,ij->ik'), ['a c', 'ac b']);
  // A vector makes a vector of a matrix; from the left there would be a matrix.
  assert.deepEqual(productsOf('ij,jk,k->i'), ['b c', 'a bc']);
  assert.deepEqual(productsOf('i,ij,jk->k'), ['a b', 'ab c']);
  // All pairs take three axes: that of a and c leaves two, since nothing else needs i.
  assert.deepEqual(productsOf('ijk,jk,ij->k'), ['a c', 'ac b']);
  // Of equals, the first.
  assert.deepEqual(productsOf('ij,jk,kl->il'), ['a b', 'ab c']);
});
