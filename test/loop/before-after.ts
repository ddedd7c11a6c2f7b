import assert from 'node:assert/strict';
import type { Kernel } from '../../src/loop/language/nodes.js';
import { parseKernel } from '../../src/loop/language/parse.js';
import { kernelText } from '../../src/loop/language/text.js';
import { verifyKernel } from '../../src/loop/language/verify.js';

/** Text without the indentation that only its place in a test file gives it. */
export function dedent(text: string): string {
  const lines = text.replace(/^\n/, '').replace(/\s*$/, '').split('\n');
  const indent = /^ */.exec(lines[0])![0].length;
  return lines.map((line) => `${line.slice(indent)}\n`).join('');
}

/** Checks what a pass makes of a kernel, both as text. */
export function assertBecomes(
  pass: (kernel: Kernel) => Kernel,
  before: string,
  after: string,
): void {
  const kernel = parseKernel(dedent(before));
  verifyKernel(kernel);
  const result = pass(kernel);
  verifyKernel(result);
  assert.equal(kernelText(result), dedent(after));
}
