import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { toC } from '../../src/artifact/index.js';
import * as kn from '../../src/index.js';
import { compilers } from '../codegen/c/compiler.js';
import { Program } from './compiled.js';
import { corpus, unbounded } from './corpus.js';
import { bytesOf, stored } from './elements.js';
import { driver, driverHeader, fieldsOf, runner, type Trial, trialOf } from './trials.js';

/** What sizes, arenas, data and weights that do not fit give: a line of numbers. */
const refusals = `#include "slice.h"
#include "meeting.h"
#include "stored.h"
#include "driver.h"
#include <stdlib.h>
static int slice(int32_t n, size_t bytes) {
  float x[8] = { 0 }, y[8];
  const slice_sizes sizes = { n };
  const slice_inputs inputs = { x };
  const slice_outputs outputs = { y };
  void *arena = room(65536);
  const int status = slice_init(arena, 65536);
  return status != 0 ? -1 : slice_run(arena, bytes, &sizes, &inputs, &outputs);
}
static int meeting(uint8_t a, uint8_t b) {
  const float x[3] = { 1, 2, 3 };
  const uint8_t first[3] = { 1, 1, 0 };
  const uint8_t second[3] = { 1, a, b };
  float y[3];
  const meeting_inputs inputs = { x, first, second };
  const meeting_outputs outputs = { y };
  meeting_found found = { -1, -1 };
  const size_t bytes = meeting_arena_bytes();
  void *arena = room(bytes);
  const int status = meeting_init(arena, bytes);
  if (status != 0) return -1;
  return 10 * meeting_run(arena, bytes, &inputs, &outputs, &found) + found.FOUND;
}
static int stored(size_t bytes, int change) {
  unsigned char *weights = load("stored.weights", STORED_WEIGHTS_BYTES);
  void *arena = room(65536);
  weights[5] = (unsigned char)(weights[5] + change);
  return stored_init(arena, 65536, weights, bytes);
}
static int example(void) {
  const float x[12] = { 1 };
  float y[8] = { 0 };
  const stored_sizes sizes = { 2 };
  const stored_inputs inputs = { x };
  const stored_outputs outputs = { y };
EXAMPLE
  return y[0] == y[4];
}
int run_refusals(void);
int run_refusals(void) {
  const int statuses[] = {
    slice(5, 65536), slice(-1, 65536), slice(5, 1), slice(INT32_MAX, 65536),
    meeting(1, 0), meeting(0, 0), meeting(1, 1),
    stored(STORED_WEIGHTS_BYTES, 0), stored(STORED_WEIGHTS_BYTES, 1), stored(STORED_WEIGHTS_BYTES - 1, 0),
    example()
  };
  int i;
  for (i = 0; i < 11; i++) printf("%d ", statuses[i]);
  clear();
  return 0;
}
`;

const trials: Trial[] = [];
const written = new Map<string, Buffer>();
const program = new Program();
after(() => program.remove());

/** One program of all that is to be compiled: starting compilers takes longer than most models do. */
before(async () => {
  Object.entries(corpus).forEach(([, make], i) => {
    kn.random.seed(5);
    trials.push(trialOf(`model_${i}`, make()));
  });
  kn.random.seed(5);
  trials.push(trialOf('stored', corpus['a network for any batch'](), { weights: 'file' }));
  for (const trial of trials) {
    program.add({ name: trial.model, ...trial.files });
    program.addSource(`run_${trial.model}.c`, runner(trial));
  }
  const sliced = kn.hybridize((x: kn.NDArray) => x.slice([0, -2]).mul(2), { dynamic: [['n']] });
  program.add({ name: 'slice', ...toC(sliced.graphFor(kn.ones([5])), { name: 'slice' }) });
  const meet = kn.hybridize((x: kn.NDArray, a: kn.NDArray, b: kn.NDArray) =>
    kn.booleanMask(x, a).add(kn.booleanMask(x, b)),
  );
  const mask = (): kn.NDArray => kn.array([true, true, false], { dtype: 'bool' });
  const meeting = toC(meet.graphFor(kn.ones([3]), mask(), mask()), { name: 'meeting' });
  program.add({ name: 'meeting', ...meeting });
  const [found] = fieldsOf(meeting.header, 'meeting_found');
  const { header } = trials.find(({ model }) => model === 'stored')!.files;
  // The lines of a comment that are set off from its words.
  const example = [...header.matchAll(/^ \* {3}(.*)$/gm)].map(([, line]) => line).join('\n');
  program.addSource('refusals.c', refusals.replace('FOUND', found).replace('EXAMPLE', example));
  program.write('driver.h', driverHeader);
  const names = [...trials.map(({ model }) => model), 'refusals'];
  program.addSource('driver.c', driver(names));
  const input = Buffer.concat(
    trials.flatMap(({ graph, feeds }) =>
      feeds.flatMap((feed) => graph.inputNames.map((name) => bytesOf(stored(feed[name]).data))),
    ),
  );
  await Promise.all(
    compilers.map(async (compiler) => {
      await program.compile(compiler);
      written.set(compiler, program.run(compiler, input));
    }),
  );
});

for (const compiler of compilers) {
  test(`what ${compiler} makes of the C computes what the graphs compute, bit by bit`, () => {
    const output = written.get(compiler)!;
    let at = 0;
    for (const [i, { expected }] of trials.entries()) {
      for (const results of expected) {
        for (const bytes of results ?? []) {
          const found = output.subarray(at, (at += bytes.byteLength));
          const name = Object.keys(corpus)[i] ?? 'weights in a file';
          assert.equal(Buffer.compare(found, bytes), 0, name);
        }
      }
    }
    assert.ok(at > 1000);
  });

  test(`what ${compiler} makes of the C tells what does not fit`, () => {
    const output = written.get(compiler)!.toString('latin1');
    assert.match(output, /0 2 1 2 2 2 29 0 4 4 0 $/);
  });
}

test('a check compiles and runs the C, and leaves the graph as it is', (context) => {
  if (compilers.length === 0) return context.skip('there is no C compiler here');
  for (const name of [
    'halves and doubles',
    'a training step that selects',
    'what differs, and where',
  ]) {
    const { graph, feeds, train = false } = corpus[name]();
    const before = JSON.stringify(graph.toJSON());
    toC(graph, { name: 'model', train, weights: train ? 'file' : 'source', check: feeds[0] });
    assert.equal(JSON.stringify(graph.toJSON()), before, name);
  }
});

test('a check without a compiler says so', () => {
  const { graph, feeds } = corpus['a network']();
  const { PATH, CC, KAON_CC } = process.env;
  process.env['PATH'] = '';
  delete process.env['CC'];
  delete process.env['KAON_CC'];
  try {
    assert.throws(() => toC(graph, { name: 'model', check: feeds[0] }), {
      name: 'UnsupportedError',
      message: /no compiler/,
    });
  } finally {
    Object.assign(process.env, { PATH }, CC === undefined ? {} : { CC }, KAON_CC === undefined ? {} : { KAON_CC }); // prettier-ignore
  }
});

test('names that are none in C, and places for weights that are none, are refused', () => {
  const { graph } = corpus['attention']();
  for (const name of ['', '1st', 'a-b', 'x.y']) {
    assert.throws(() => toC(graph, { name }), { name: 'ArgumentError', op: 'toC' });
  }
  const weights = 'flash' as 'file';
  assert.throws(() => toC(graph, { name: 'model', weights }), { name: 'ArgumentError', op: 'toC' });
});

test('sizes that nothing bounds are refused with the operator and the line that decide them', () => {
  const operators = ['size that the data of repeatEach', 'iterations of whileLoop', 'iterations of whileLoop']; // prettier-ignore
  Object.values(unbounded).forEach((make, k) => {
    assert.throws(
      () => toC(make().graph, { name: 'model' }),
      (error) =>
        error instanceof kn.UnsupportedError &&
        error.op === 'toC' &&
        error.message.includes(operators[k]) &&
        /corpus/.test(String(error.source)),
    );
  });
});

test('the gradient of a loop without a limit is refused with the loop, whatever a mask decides in it', () => {
  const loss = (x: kn.NDArray): kn.NDArray =>
    kn
      .whileLoop(
        (v) => v.sum().less(10),
        (v) => [[], [v.add(v.booleanMask(v.greater(0)).tanh().sum())]],
        [x],
      )[1][0]
      .sum();
  const graph = kn.hybridize((x: kn.NDArray) => kn.grad(loss)(x)).graphFor(kn.ones([3]));
  assert.throws(() => toC(graph, { name: 'model' }), {
    name: 'UnsupportedError',
    message: /nothing bounds the number of iterations of whileLoop/,
    advice: /maxIterations/,
    source: /c\.test/,
  });
});
