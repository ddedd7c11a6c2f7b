import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import { calls } from './calls.js';
import { checkProgram, oracleOf, programOf } from './check.js';
import { isCapturing } from '../../src/front/core/capture.js';
import { generate } from './generate.js';
import { byFunctions } from './control.js';
import type { OracleName } from './oracles.js';
import { printProgram } from './print.js';
import { allSteps } from './program.js';
import type { Planted } from './run.js';
import { settings } from '../support/settings.js';

type Change = (x: NDArray) => NDArray;

/** An operator, or control flow, that gives something else when it is captured. */
function planted(wrong: string, by: Change): Planted {
  const change = (result: NDArray): NDArray =>
    isCapturing() && isFloat(result.dtype) ? by(result) : result;
  return {
    callOf: (op) =>
      op === wrong ? (...args) => change(calls.get(op)!(...args) as NDArray) : undefined,
    control: (step, args, enter) => {
      const results = byFunctions(step, args, enter);
      return step.op === wrong ? results.map(change) : results;
    },
  };
}

/** The first program of the kind that holds a call of the operator and shows the fault. */
function report(oracle: OracleName, wrong: string, make: () => Change): string {
  for (let seed = 1; seed < 4000; seed++) {
    if (oracleOf(seed) !== oracle || seed % 7 === 0) continue;
    const { program } = programOf(seed);
    if (!allSteps(program.steps).some(({ op }) => op === wrong)) continue;
    const found = checkProgram(program, oracle, planted(wrong, make()));
    if (found !== null) return found;
  }
  return assert.fail(`no program shows the fault in ${wrong}`);
}

/** The lines of a report that call something; a call with bodies begins with one and ends with another. */
function stepsIn(text: string): string[] {
  return text.split('\n').filter((line) => /^ *(const .* = )?\w+\(.*(\);|, \/\/ \w+)$/.test(line));
}

type Fault = readonly [OracleName, string, Change];

const faults: readonly Fault[] = [
  ['exported', 'where', (x) => x.neg()],
  ['called', 'foreach', (x) => x.mul(1.0001)],
  ['exported', 'cond', (x) => x.neg()],
];

/** Those of a night, which take longer to find. */
const further: readonly Fault[] = [
  ['called', 'tanh', (x) => x.mul(1.0001)],
  ['recorded', 'sin', (x) => x.detach().add(x.sub(x.detach()).mul(0.5))],
  ['saved', 'whileLoop', (x) => x.add(1)],
];

for (const [oracle, wrong, by] of settings.isLong ? [...faults, ...further] : faults) {
  test(`a fault planted in ${wrong} is found by "${oracle}" and cut down to a few calls`, () => {
    const text = report(oracle, wrong, () => by);
    const steps = stepsIn(text);
    assert.ok(steps.length <= 3, text);
    assert.ok(steps.some((step) => step.includes(`${wrong}(`)), text); // prettier-ignore
    assert.match(text, /KAON_SEED=\d+ KAON_PROGRAMS=1/);
  });
}

test('a program that differs only once is shown as a whole', () => {
  const text = report('called', 'tanh', () => {
    let left = 1;
    return (x) => (left-- > 0 ? x.neg() : x);
  });
  assert.match(text, /called differs for seed \d+/);
  assert.match(text, /was not made smaller: a second run does not differ/);
  assert.ok(stepsIn(text).length > 20, text);
});

test('the program of a seed is the same each time', () => {
  const options = { calls: 30, states: true, gradients: true, flows: true };
  const texts = [5, 5, 6].map((seed) => printProgram(generate(seed, options).program));
  assert.equal(texts[0], texts[1]);
  assert.notEqual(texts[0], texts[2]);
});
