import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoutineContext } from '../../../src/artifact/driver/callee.js';
import { Placement } from '../../../src/artifact/driver/placement.js';
import { bodyLines, listText, local } from '../../../src/artifact/module/driver.js';
import { symbol } from '../../../src/base/dim/index.js';
import { bytesOf, type DType } from '../../../src/base/dtype.js';
import { type ErrorDetails, InternalError, ShapeError } from '../../../src/base/errors.js';
import type { HostRoutine } from '../../../src/passes/host/statements.js';
import { cases, doubled, elementsBefore, handles, namesBefore } from '../../passes/host/cases.js';

/*
 * Every statement of the host program, with addresses and printed as a module, does what the interpreter does.
 * Programs with code of their own are printed and run by the other tests of artifacts.
 */

const elsewhere = new Map([
  ['run', 'has code'],
  ['call', 'has code'],
  ['check', 'is part of the code in an artifact'],
  ['trim', 'is nothing in an artifact, whose memory is not given back'],
  ['drop', 'is nothing in an artifact, whose memory is not given back'],
]);

const none = (): never => {
  throw new InternalError('there is no code');
};
const around: RoutineContext = { plan: none, code: none, constant: none, callee: none };

const arrays = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array, bool: Uint8Array } as const; // prettier-ignore

/** Constructor of the errors that a module throws, with the words of the runtime. */
function Refusal({ problem, ...details }: ErrorDetails & { readonly problem: string }): ShapeError {
  return new ShapeError(problem, details);
}

for (const [kind, { body, names = {}, arrays: made = new Map(), error }] of Object.entries(cases)) {
  if (elsewhere.has(kind)) continue;
  test(`${kind} in a module does what it does in the interpreter`, () => {
    const inputs = elementsBefore();
    const given = handles.slice(0, inputs.length);
    const routine: HostRoutine = {
      program: doubled,
      inputs: given,
      constants: new Map(),
      body,
      outputs: [...made].map(([of, elements]) => ({ of, shape: [elements.length] })),
      names: new Set([...namesBefore.keys(), ...Object.keys(names)]),
    };
    const memory = { buffer: new ArrayBuffer(1024) };
    const view = (dtype: DType, address: number, length: number) =>
      new arrays[dtype as keyof typeof arrays](memory.buffer, address, length);
    const placement = new Placement(routine, around, () => undefined);
    let top = 0;
    inputs.forEach((elements, k) => {
      view(given[k].dtype, top, elements.length).set(elements);
      placement.input(k, top);
      top += elements.length * bytesOf('float32');
    });
    placement.run();
    const wanted = { ...Object.fromEntries(namesBefore), ...names };
    const results = [...Object.keys(wanted).map((name) => symbol(name)), ...placement.outputs().map(({ at }) => at)]; // prettier-ignore
    const code = [...bodyLines(placement.statements, none), `return ${listText(results)};`];
    const parameters = [...namesBefore.keys(), placement.memory.base.key].map(local);
    let reserved = top;
    const run = new Function('view', 'move', 'reserve', 'Refusal', ...parameters, code.join('\n'));
    const move = (to: number, from: number, bytes: number): void =>
      void view('uint8', 0, 1024).copyWithin(to, from, from + bytes);
    const reserve = (bytes: number): void => void (reserved = Math.max(reserved, bytes));
    const start = (): number[] => run(view, move, reserve, Refusal, ...namesBefore.values(), top) as number[]; // prettier-ignore
    if (error !== undefined) return assert.throws(start, error);
    const found = start();
    assert.deepEqual(found.slice(0, Object.keys(wanted).length), Object.values(wanted));
    [...made].forEach(([{ dtype }, elements], k) => {
      const at = found[Object.keys(wanted).length + k];
      assert.deepEqual([...view(dtype, at, elements.length)], elements);
      assert.ok(at + elements.length * bytesOf(dtype) <= reserved, 'memory is reserved');
    });
  });
}
