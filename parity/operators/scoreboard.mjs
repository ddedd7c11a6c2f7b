// What was found, counted by operator, and the page that says so.

import { readFileSync } from 'node:fs';
import { nativeCases } from './exercise.mjs';

/** What references decide that PyTorch lacks, refuses or leaves open, by the operators' names. */
const decided = JSON.parse(readFileSync(new URL('decided.json', import.meta.url), 'utf8'));

/** Reasons in the order in which they are met, numbered for the table. */
class Reasons {
  #all = new Map();

  number(reason) {
    if (!this.#all.has(reason)) this.#all.set(reason, this.#all.size + 1);
    return this.#all.get(reason);
  }

  lines() {
    return [...this.#all].map(([reason, number]) => `${number}. ${reason}`);
  }
}

/** A case is one operator on one set of operands in one tier. */
export function rowOf({ name, family, absent, cases = [], judged = { cases: [] } }) {
  const row = { name, family, absent, cases: 0, right: 0, shared: 0, convention: 0, wrong: 0, refused: 0, reasons: new Map(), details: [], dtypes: new Set() };
  const wrong = (what, label) => {
    row.wrong++;
    row.details.push(`WRONG ${label}: ${what}`);
  };
  judged.cases.forEach((verdict, i) => {
    const { each, inputs, results, failures = [], refusal } = cases[i];
    const label = each.label;
    for (const { tier, message } of failures) {
      row.cases++;
      wrong(`${tier} fails where eager does not: ${message}`, label);
    }
    if (verdict.failed !== undefined) {
      row.cases++;
      return wrong(`the comparison failed: ${verdict.failed}`, label);
    }
    if (refusal !== undefined) {
      row.cases++;
      if (!refusal.isTyped) return wrong(`${refusal.error}: ${refusal.message}`, label);
      if (verdict.refused === 'both' || refusal.error === 'DTypeError') row.refused++;
      else wrong(`refused, and the reference is not: ${refusal.error}: ${refusal.message}`, label);
      return;
    }
    for (const { dtype } of inputs) row.dtypes.add(dtype);
    if (verdict.refused === 'reference') {
      row.cases += results.length;
      return wrong(`the reference refuses: ${verdict.message}`, label);
    }
    for (const { tier } of results) {
      row.cases++;
      const mine = verdict.found.filter(({ tiers }) => tiers.includes(tier));
      const kinds = new Set(mine.map(({ kind }) => kind));
      const kind = ['wrong', 'convention', 'shared'].find((each) => kinds.has(each)) ?? 'right';
      row[kind]++;
      for (const { reason } of mine.filter((found) => found.kind === 'convention')) row.reasons.set(reason, (row.reasons.get(reason) ?? 0) + 1);
    }
    for (const found of verdict.found) {
      const part = { y: 'value', g: 'gradient', s: 'second derivative' }[found.part];
      const line = `${label}: ${part} ${found.index}, ${found.tiers.join(' ')}: ${found.what}${found.count > 1 ? ` (${found.count} elements)` : ''}`;
      if (found.kind === 'wrong') row.details.push(`WRONG ${line}`);
      else if (process.env.KAON_PARITY_SHOW === '1') row.details.push(`${found.kind} ${line}`);
    }
  });
  row.line = absent !== undefined ? `${name}: ${absent}` : `${name}: ${row.cases} cases, ${row.right} right, ${row.shared} as far off as PyTorch, ${row.convention} by convention, ${row.refused} refused, ${row.wrong} wrong`;
  return row;
} // prettier-ignore

/** A row as text, and back. */
export const textOfRow = (row) =>
  JSON.stringify({ ...row, reasons: [...row.reasons], dtypes: [...row.dtypes] });

export function parseRow(text) {
  const row = JSON.parse(text);
  return { ...row, reasons: new Map(row.reasons), dtypes: new Set(row.dtypes) };
} // prettier-ignore

const total = (rows, key) => rows.reduce((sum, row) => sum + row[key], 0);

/** The page, a line to print, and how many cases are wrong. */
export function scoreboard(rows, { versions, options }) {
  const reasons = new Reasons();
  const compared = rows.filter(({ absent }) => absent === undefined);
  const sums = ['cases', 'right', 'shared', 'convention', 'refused', 'wrong'].map((key) => total(compared, key));
  const summary = `${compared.length} operators, ${sums[0]} cases: ${sums[1]} right, ${sums[2]} as far off as PyTorch, ${sums[3]} by convention, ${sums[4]} refused, ${sums[5]} wrong`;
  const lines = compared.map(({ name, family, cases, right, shared, convention, refused, wrong, reasons: mine }) => {
    const numbers = [...mine.keys()].map((reason) => reasons.number(reason)).sort((a, b) => a - b);
    return `| \`${name}\` | ${family} | ${cases} | ${right} | ${shared} | ${convention}${numbers.length > 0 ? ` (${numbers.join(', ')})` : ''} | ${refused} | ${wrong} |`;
  });
  const text = [
    '# Operators beside PyTorch',
    '',
    '<!-- prettier-ignore-start -->',
    '',
    `Written by \`npm run parity -- operators\` (seed ${options.seed}); see [parity/operators](../parity/operators/README.md) for what a case is and how near a result has to be. References: ${versions.replace(/\+cu\d+/, '')}. Tiers: ${options.tier.join(', ')}${options.tier.includes('native') ? `; native code is compiled for ${nativeCases}` : ''}.`,
    '',
    `${summary}.`,
    '',
    '- **right**: values to the bit, within the bound of decision 5, or as near as the condition allows; gradients and gradients of gradients likewise; shapes, dtypes, NaN, infinities and signs of zero equal.',
    '- **as PyTorch**: further off than that, and so is PyTorch in the same dtype, by half as much at least.',
    '- **convention**: another decision than that of PyTorch; the reasons are below.',
    '- **refused**: a typed error, where the reference refuses as well or the dtype is not one that the operator takes.',
    '',
    '| operator | family | cases | right | as PyTorch | convention | refused | wrong |',
    '| --- | --- | --: | --: | --: | --: | --: | --: |',
    ...lines,
    '',
    '## Conventions',
    '',
    ...reasons.lines(),
    '',
    '## References that are not PyTorch alone',
    '',
    ...Object.entries(decided).map(([names, reason]) => `- ${names.split(', ').map((name) => `\`${name}\``).join(', ')}. ${reason}`),
    '',
    '## Without a reference',
    '',
    ...rows.filter(({ absent }) => absent !== undefined).map(({ name, absent }) => `- \`${name}\` ${absent}.`),
    '',
    '<!-- prettier-ignore-end -->',
    '',
  ].join('\n');
  return { text, summary, wrong: sums[5] };
} // prettier-ignore
