import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Facts } from '../../../src/loop/analysis/facts.js';
import { Interner } from '../../../src/loop/analysis/intern.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import * as p from '../../../src/loop/analysis/polynomial.js';
import { exprText } from '../../../src/loop/language/text.js';
import { exprMapper } from '../../../src/loop/language/visit.js';

/** Facts of the loops `i < n`, `j < m`, `q < 8` by 2, and polynomials of expressions inside. */
function setting(): {
  facts: Facts;
  of: (text: string) => p.Polynomial;
  text: (of: p.Polynomial) => string;
} {
  const interner = new Interner();
  const intern = exprMapper((expr) => interner.intern(expr));
  const kernel = parseKernel(`kernel k(n: i32, m: i32, o: i32[]) {
    for i in 0..n { for j in 0..m { for q in 0..8 step 2 { o[0] = i + j + q } } } }`);
  const numberOf = interner.number.bind(interner);
  const facts = new Facts(numberOf, kernel.params);
  const names = new Map(kernel.params.map((param) => [param.name, param]));
  let stmt = kernel.body;
  for (let depth = 1; stmt.kind === 'for'; depth++, stmt = stmt.body) {
    names.set(stmt.variable.name, stmt.variable);
    facts.enterLoop({ ...stmt, begin: intern(stmt.begin), end: intern(stmt.end) }, depth);
  }
  const of = (text: string): p.Polynomial => {
    const parsed = parseKernel(
      `kernel k(${[...names.keys()]
        .filter((x) => x !== 'o')
        .map((x) => `${x}: i32`)
        .join(', ')}, o: i32[]) { o[0] = ${text} }`,
    );
    assert.ok(parsed.body.kind === 'store');
    const rename = exprMapper((expr) =>
      expr.kind === 'var' ? (names.get(expr.name) as typeof expr) : expr,
    );
    return facts.polynomial(intern(rename(parsed.body.value)));
  };
  return { facts, of, text: (x) => exprText(p.toExpr(x, (atom) => facts.depth(atom), numberOf)) };
}

describe('polynomials and facts', () => {
  it('collects terms modulo 2^32 and writes outer variables first', () => {
    const { of, text } = setting();
    assert.equal(text(of('(q + n) * (i - 1) + 3')), '3 - n + n * i - q + i * q');
    assert.equal(text(of('65536 * n * 65536 + j')), 'j');
    assert.equal(text(of('(i + j) - (j + i)')), '0');
    assert.equal(p.constantValue(of('(i + 2) * 3 - i * 3')), 6);
  });

  it('proves what loops imply and nothing else', () => {
    const { facts, of } = setting();
    const cases: readonly (readonly [string, boolean])[] = [
      ['n * m - 1 - (i * m + j)', true],
      ['n * m - 2 - (i * m + j)', false],
      ['6 - q', true],
      ['5 - q', false],
      ['i * j * q', true],
      ['n - i - 1', true],
      ['i - n', false],
      ['j - j / 3 * 3', true],
      ['j - i', false],
      ['min(i, j)', true],
      ['max(i, 0 - 5)', true],
      ['n - min(i, 7)', true],
      ['m - 1 - j % 4', true],
      ['m - 1 - n', false],
    ];
    for (const [text, holds] of cases) assert.equal(facts.isNonNegative(of(text)), holds, text);
  });

  it('bounds a local by its value, unless it is assigned', () => {
    const interner = new Interner();
    const intern = exprMapper((expr) => interner.intern(expr));
    const n = e.variable('n', 'i32');
    for (const isAssigned of [false, true]) {
      const facts = new Facts(interner.number.bind(interner), [n]);
      const t = e.variable('t', 'i32');
      const value = intern(e.min(e.max(n, 2), 7));
      facts.enterLocal(t, 0, isAssigned ? null : value);
      const isKnown = (expr: Expr): boolean => facts.isNonNegative(facts.polynomial(intern(expr)));
      assert.equal(isKnown(e.sub(7, t)), !isAssigned);
      assert.equal(isKnown(e.sub(t, 2)), !isAssigned);
      assert.equal(isKnown(e.sub(6, t)), false);
      assert.equal(isKnown(e.sub(t, 3)), false);
    }
  });
});
