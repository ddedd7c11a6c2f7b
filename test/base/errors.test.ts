import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  currentSource,
  inContext,
  InternalError,
  KaonError,
  named,
  ShapeError,
  userFrame,
} from '../../src/base/errors.js';
import { symbol } from '../../src/base/dim/index.js';
import { installDebugging, parseFlags } from '../../src/base/flags.js';

test('a message says everything, one fact a line', () => {
  const error = new ShapeError('the shapes do not broadcast', {
    op: 'add',
    expected: 'equal extents',
    actual: '[2] and [3]',
    advice: 'reshape one of them',
    source: 'model.ts:1:2',
  });
  assert.equal(
    error.message,
    [
      'add: the shapes do not broadcast',
      '  expected: equal extents',
      '  actual:   [2] and [3]',
      '  advice:   reshape one of them',
      '  at:       model.ts:1:2',
    ].join('\n'),
  );
  assert.equal(error.name, 'ShapeError');
  assert.equal(error.code, 'KAON_SHAPE');
  assert.equal(error.problem, 'the shapes do not broadcast');
  assert.ok(error instanceof KaonError && error instanceof Error);
  assert.ok(error.stack?.startsWith('ShapeError: add: the shapes do not broadcast\n'));
});

test('fields that are not given are not in the message', () => {
  const error = new ShapeError('bad', { source: 'x.ts:1:1' });
  assert.equal(error.message, 'bad\n  at:       x.ts:1:1');
  assert.equal(error.op, undefined);
});

test('the user frame skips Kaon and the runtime, and reads every notation of paths', () => {
  const own = new URL('../../src/base/errors.js', import.meta.url).href;
  const stack = (...lines: string[]): string =>
    ['Error: x', ...lines.map((line) => `    at ${line}`)].join('\n');
  const cases: [string, string | undefined][] = [
    [stack(`f (${own}:1:2)`, 'g (file:///home/me/model.ts:3:4)'), '/home/me/model.ts:3:4'],
    [stack('node:internal/main:1:1', '/home/me/a.js:5:6'), '/home/me/a.js:5:6'],
    [stack('Object.<anonymous> (C:\\code\\a.ts:7:8)'), 'C:\\code\\a.ts:7:8'],
    [stack('https://example.org/app.js:9:10'), 'https://example.org/app.js:9:10'],
    [stack('async g (file:///a%20b/c.ts:1:1)'), '/a%20b/c.ts:1:1'],
    ['f@https://example.org/app.js:3:1', 'https://example.org/app.js:3:1'],
    [stack('g (webpack://app/./src/model.ts:21:8)'), 'webpack://app/./src/model.ts:21:8'],
    [stack('<anonymous> (webpack:///app.ts:3:1)'), 'webpack:///app.ts:3:1'],
    [stack('node:internal/main:1:1', 'wasm://wasm/1a2b:wasm-function[3]:1:2'), undefined],
    ['', undefined],
  ];
  for (const [text, expected] of cases) assert.equal(userFrame(text), expected, text);
  assert.equal(userFrame(undefined), undefined);
});

test('an error knows the line that caused it, without being told', () => {
  assert.match(new ShapeError('x').source ?? '', /errors\.test\.[jt]s:\d+:\d+$/);
  const limit = Error.stackTraceLimit;
  assert.match(currentSource() ?? '', /errors\.test\.[jt]s:\d+:\d+$/);
  assert.equal(Error.stackTraceLimit, limit);
});

/** The line and column at which the caller of this was called, from the stack as it is printed. */
function printedHere(): string {
  const line = new Error().stack!.split('\n')[2];
  return /([^/\\]+:\d+:\d+)\)?$/.exec(line)![1];
}

test('the current source is what the stack says, wherever it is asked for and however often', () => {
  const name = (source: string | undefined): string => source!.replace(/^.*[/\\]/, '');
  const here = (): [string | undefined, string] => [currentSource(), printedHere()];
  const deep = (depth: number): [string | undefined, string] =>
    depth === 0 ? here() : deep(depth - 1);
  for (const depth of [0, 3, 60, 0]) {
    const [source, printed] = deep(depth);
    const [place, column] = [/^.*:/.exec(name(source))![0], Number(/\d+$/.exec(source!)![0])];
    assert.equal(place, /^.*:/.exec(printed)![0]);
    assert.ok(column < Number(/\d+$/.exec(printed)![0]), 'the first call of the two on the line');
  }
  const pair = [currentSource(), currentSource()];
  assert.notEqual(pair[0], pair[1]);
  const again = [1, 2].map(() => currentSource());
  assert.equal(again[0], again[1]);
});

test('asking for the source leaves how the user prints stacks as it was', () => {
  const before = Error.prepareStackTrace;
  const prepare = (): string => 'mine';
  try {
    Error.prepareStackTrace = prepare;
    currentSource();
    assert.equal(Error.prepareStackTrace, prepare);
  } finally {
    Error.prepareStackTrace = before;
  }
});

test('the current source is found where the runtime gives stacks as text only', () => {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const find = (): string | undefined => currentSource();
  const known = [1, 2].map(() => {
    const source = find();
    Object.defineProperty(Error, 'prepareStackTrace', {
      get: () => undefined,
      set: () => {},
      configurable: true,
    });
    return source;
  });
  if (before === undefined) delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace;
  else Object.defineProperty(Error, 'prepareStackTrace', before);
  assert.match(known[0] ?? '', /errors\.test\.[jt]s:\d+:\d+$/);
  assert.equal(known[1], known[0]);
});

test('in context an error keeps its class and what it knew', () => {
  const inner = new ShapeError('no such axis', {
    op: 'sum',
    expected: '0',
    actual: '7',
    source: 'a:1:1',
  });
  const outer = inContext(inner, 'its gradient failed', { op: 'mean', source: 'b:2:2' });
  assert.ok(outer instanceof ShapeError);
  assert.equal(outer.problem, 'its gradient failed: sum: no such axis');
  assert.deepEqual(
    [outer.op, outer.expected, outer.actual, outer.source],
    ['mean', '0', '7', 'b:2:2'],
  );
  assert.equal(outer.cause, inner);
  assert.equal(inContext(inner, 'c', {}).source, 'a:1:1');
  const foreign = new TypeError('oops');
  const wrapped = inContext(foreign, 'its gradient failed', { op: 'mean' });
  assert.ok(wrapped instanceof InternalError);
  assert.equal(wrapped.cause, foreign);
});

test('an error of a helper takes the name of whoever called it; one with a name keeps it', () => {
  const nameless = new ShapeError('no such axis', { expected: '0', actual: '7', source: 'a:1:1' });
  const error = named(nameless, 'sum');
  assert.ok(error instanceof ShapeError);
  assert.deepEqual(
    [error.op, error.expected, error.actual, error.source],
    ['sum', '0', '7', 'a:1:1'],
  );
  assert.match(error.message, /^sum: no such axis/);
  assert.equal(error.cause, nameless);
  const foreign = new TypeError('oops');
  for (const other of [error, foreign, 'text', undefined])
    assert.equal(named(other, 'mean'), other);
  assert.equal(inContext(error, 'input x', { op: 'sum' }).problem, 'input x: no such axis');
});

test('a stack has the frames of the user; one that is told again has those of the first, once', () => {
  const home = new URL('../../src/base/', import.meta.url).pathname;
  const inner = new ShapeError('no such axis');
  const frames = inner.stack!.split('\n').filter((line) => line.startsWith('    at '));
  assert.ok(frames.length > 0 && frames.length <= 12);
  assert.ok(
    frames.every((line) => !line.includes(home)),
    inner.stack,
  );
  const outer = inContext(inner, 'iteration 0', { op: 'foreach' });
  assert.deepEqual(
    outer.stack!.split('\n').filter((line) => line.startsWith('    at ')),
    frames,
  );
  assert.equal(inner.stack, 'ShapeError: no such axis');
  assert.ok(inspect(inContext(outer, 'iteration 1', {})).split('\n').length < 30);
  assert.ok(inContext(5, 'here').stack!.includes('src/base/errors'), 'ours are shown in full');
});

test('flags ask for whole stacks', () => {
  const previous = installDebugging({ flags: parseFlags('stacks'), print: () => undefined });
  try {
    assert.throws(
      () => symbol('1'),
      ({ stack }: Error) => stack!.includes('src/base/dim/'),
    );
  } finally {
    installDebugging(previous);
  }
  assert.throws(
    () => symbol('1'),
    ({ stack }: Error) => !stack!.includes('src/base/dim/'),
  );
});

test('an error is printed without saying anything twice', () => {
  const error = new ShapeError('bad', { expected: 'only once', source: 'a.ts:1:1' });
  assert.equal(inspect(error).split('only once').length, 2);
  assert.deepEqual(Object.keys(error).sort(), ['code', 'name']);
});

test('long facts are cut in messages, not in fields', () => {
  const error = new ShapeError('bad', { actual: 'x'.repeat(5000) });
  assert.equal(error.actual?.length, 5000);
  assert.ok(error.message.length < 1500);
});

test('errors can be made of anything that JavaScript hands over', () => {
  for (const value of [null, Symbol('s'), 5n, Object.create(null), { toString: 1 }]) {
    const error = new ShapeError(value as never, { op: value, actual: value } as never);
    assert.equal(typeof error.message, 'string');
    assert.ok(inContext(value, 'here') instanceof InternalError);
    assert.equal(userFrame(value as never), undefined);
  }
  assert.ok(new ShapeError('x', null as never) instanceof ShapeError);
});
