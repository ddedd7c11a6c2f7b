import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { generator } from '../../support/samples.js';
import { library } from './library.js';
import { reportOf } from './kinds.js';
import { shrinkLines } from './lines.js';
import { writeNest } from './nests.js';
import type { Plain } from './plain.js';
import { functions, type Main, mainOf, plainMain } from './running.js';
import { dataOf, slopes, slopesBy } from './slopes.js';

/** The value of a program on the data of a seed; null where the text is no program for them. */
function valueOf(run: () => Main<Plain>, seed: number): string | null {
  try {
    return JSON.stringify(run()(...dataOf(seed, 0)).data[0]);
  } catch {
    return null;
  }
}

for (const name of ['tanh', 'cumsum', 'take', 'softmax']) {
  test(`a program in which ${name} is wrong is cut down to a few lines`, async () => {
    const right = library[name] as (...args: unknown[]) => Plain;
    const wrong = (...args: unknown[]): Plain => {
      const made = right(...args);
      return { ...made, data: made.data.map((x) => (typeof x === 'number' ? x * 1.01 : x)) };
    };
    const differs = (text: string, seed: number): boolean => {
      const found = valueOf(() => mainOf<Plain>(text, { ...library, [name]: wrong }), seed);
      const expected = valueOf(() => plainMain(text), seed);
      return found !== null && expected !== null && found !== expected;
    };
    const seeds = Array.from({ length: 200 }, (_, i) => i + 1);
    const textOf = (seed: number): string => slopes.make(generator(seed)).text;
    const seed = seeds.find((each) => textOf(each).split('\n').length > 40 && differs(textOf(each), each))!; // prettier-ignore
    const text = await shrinkLines(textOf(seed), (shorter) => differs(shorter, seed));
    assert.ok(differs(text, seed));
    assert.ok(text.includes(`kn.${name}(`), text);
    assert.ok(text.split('\n').length <= 20, text);
  });
}

const writers = { statements: {}, nests: { write: writeNest } };

for (const [name, options] of Object.entries(writers)) {
  test(`a slope that is wrong is noticed in ${name}, and shown in a few lines`, async () => {
    const tanh = (x: kn.NDArray): kn.NDArray => {
      const y = kn.tanh(x);
      return y.detach().add(y.sub(y.detach()).mul(0.5));
    };
    const kind = slopesBy({ ...options, given: { ...functions, tanh } });
    let found: string | null = null;
    for (let seed = 1; found === null && seed < 60; seed++) found = await reportOf(kind, seed);
    assert.match(found ?? '', /derivatives are/);
    const [, text] = /(function main.*\n\})\n/s.exec(found!)!;
    assert.ok(text.includes('kn.tanh('), text);
    assert.ok(text.split('\n').length <= 12, text);
  });
}
