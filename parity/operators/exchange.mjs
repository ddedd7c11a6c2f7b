// What Kaon and the Python program tell each other: a safetensors file for each operator, and lines of JSON.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** An argument as JSON; numbers that JSON lacks are `{ "#": "Infinity" }`. */
const encoded = (value) => {
  if (Array.isArray(value)) return value.map(encoded);
  if (typeof value === 'number' && !Number.isFinite(value)) return { '#': String(value) };
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, encoded(each)]));
};

const sameBits = (a, b) =>
  a.dtype === b.dtype &&
  a.shape.join() === b.shape.join() &&
  Buffer.compare(bytesOf(a.data), bytesOf(b.data)) === 0;

const bytesOf = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Results of a case by tier, without those that have the same bits as those of a tier before. */
function distinct(results) {
  const kept = [];
  for (const { tier, result } of results) {
    const same = kept.find((other) =>
      ['y', 'g', 's'].every(
        (part) =>
          other.result[part].length === result[part].length &&
          other.result[part].every((array, k) => sameBits(array, result[part][k])),
      ),
    );
    if (same === undefined) kept.push({ tiers: [tier], result });
    else same.tiers.push(tier);
  }
  return kept;
}

/** Writes the cases of an operator with Kaon's results. */
export function writeCases(path, { name, operands, cases }, encodeSafetensors) {
  const tensors = new Map();
  const put = (key, { dtype, shape, data }) => tensors.set(key, { dtype, shape, data });
  const list = cases.map(({ each, inputs, heads, results, refusal }) => {
    inputs.forEach((array, k) => put(`${each.id}/x${k}`, array));
    heads.forEach((array, k) => put(`${each.id}/h${k}`, array));
    const kept = distinct(results);
    kept.forEach(({ result }, r) => {
      for (const part of ['y', 'g', 's'])
        result[part].forEach((array, k) => put(`${each.id}/${r}/${part}${k}`, array));
    });
    return {
      id: each.id,
      label: each.label,
      args: encoded(each.args),
      inputs: inputs.length,
      heads: heads.length,
      order: each.order,
      refusal: refusal ?? null,
      results: kept.map(({ tiers, result: { y, g, s } }) => ({
        tiers,
        y: y.length,
        g: g.length,
        s: s.length,
      })),
    };
  });
  const metadata = new Map([['cases', JSON.stringify({ operator: name, operands, cases: list })]]);
  writeFileSync(path, encodeSafetensors({ tensors, metadata }));
}

/** The Python program, which is given paths and answers each with what it found. */
export class Judge {
  #child;
  #lines;
  #waiting = Promise.resolve();

  constructor(python) {
    const program = fileURLToPath(new URL('judge.py', import.meta.url));
    this.#child = spawn(python, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** @throws Error when the program has ended. */
  judge(path) {
    const answer = this.#waiting.then(async () => {
      this.#child.stdin.write(`${path}\n`);
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`the Python program ended at ${path}`);
      return JSON.parse(value);
    });
    this.#waiting = answer.catch(() => {});
    return answer;
  }

  async versions() {
    return (await this.judge('versions')).versions;
  }

  async close() {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }
}

/** Where the file of an operator goes. */
export const pathOf = (folder, name) => join(folder, `${name}.safetensors`);
