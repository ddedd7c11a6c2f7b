import type { KaonError } from './errors.js';

/** Characters of one detail that a message shows at most. The fields have all of it. */
const mostCharacters = 1000;

/** The message of an error: the problem, and a line for each detail that there is. */
export function messageText({
  problem,
  op,
  expected,
  actual,
  advice,
  source,
  block,
}: KaonError): string {
  const lines = [op === undefined ? clip(problem) : `${clip(op)}: ${clip(problem)}`];
  if (expected !== undefined) lines.push(`  expected: ${clip(expected)}`);
  if (actual !== undefined) lines.push(`  actual:   ${clip(actual)}`);
  if (advice !== undefined) lines.push(`  advice:   ${clip(advice)}`);
  if (block !== undefined) lines.push(`  in:       ${clip(block)}`);
  if (source !== undefined) lines.push(`  at:       ${source}`);
  return lines.join('\n');
}

function clip(text: string): string {
  if (text.length <= mostCharacters) return text;
  return `${text.slice(0, mostCharacters)}... (${text.length} characters)`;
}
