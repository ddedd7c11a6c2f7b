import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InternalError } from '../../src/base/errors.js';
import { installDebugging, parseFlags } from '../../src/base/flags.js';
import { Program, type Value } from '../../src/ir/program.js';
import { exp } from '../../src/ops/elementwise/exponential.js';
import type { Pass } from '../../src/passes/rewrite/pass.js';
import { runPipeline } from '../../src/passes/pipeline.js';

function exponential(length: number, stated: number = length): Program {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [length] });
  const type = { dtype: 'float32', shape: [stated] } as const;
  const [value] = program.appendTyped(exp.declaration, [x], {}, [type]);
  program.setOutputs([{ name: 'y', value }]);
  return program;
}

const wrong: Pass = { name: 'wrong', doc: 'states another type', run: () => exponential(3, 4) };
const right: Pass = { name: 'right', doc: 'does nothing', run: (program) => program };

function withFlags(flags: string, run: () => Program): Program {
  const previous = installDebugging({ flags: parseFlags(flags), print: () => {} });
  try {
    return run();
  } finally {
    installDebugging(previous);
  }
}

test('verify: a pass that makes an unsound program is named, whenever it does', () => {
  for (let i = 0; i < 2; i++) {
    assert.throws(
      () => withFlags('verify', () => runPipeline(exponential(3), [right, wrong, right])),
      (error) =>
        error instanceof InternalError &&
        /a pass has made an unsound program: wrong/.test(error.message) &&
        /float32\[4\]/.test(String(error.cause)),
    );
  }
});

test('verify: so is what the compiler was given, and sound programs pass', () => {
  assert.throws(
    () => withFlags('verify', () => runPipeline(exponential(3, 4), [right])),
    /what the compiler was given/,
  );
  const program = exponential(3);
  assert.equal(
    withFlags('verify', () => runPipeline(program, [right])),
    program,
  );
});

test('without the flag nothing is verified', () => {
  const made = withFlags('', () => runPipeline(exponential(3), [wrong]));
  assert.deepEqual((made.outputs[0].value as Value).type.shape, [4]);
});
