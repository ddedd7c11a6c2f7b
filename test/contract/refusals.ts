import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { type Arrays, type Code } from './forms.js';

/** What the contract says about every mistake: its class and code, where it was made, and that nothing came of it. */

const { autograd } = kn;

type Kind = abstract new (...args: never[]) => kn.KaonError;

const codes: ReadonlyMap<Kind, string> = new Map<Kind, string>([
  [kn.ShapeError, 'KAON_SHAPE'],
  [kn.DTypeError, 'KAON_DTYPE'],
  [kn.ArgumentError, 'KAON_ARGUMENT'],
  [kn.TraceError, 'KAON_TRACE'],
  [kn.GraphError, 'KAON_GRAPH'],
  [kn.FormatError, 'KAON_FORMAT'],
  [kn.UnsupportedError, 'KAON_UNSUPPORTED'],
  [kn.DeviceError, 'KAON_DEVICE'],
]);

export interface Refusal {
  readonly kind: Kind;
  /** Left out where the mistake belongs to no operator or function. */
  readonly op?: string;
  readonly says: string | RegExp;
  /** Fields that have nothing to say. Default: `expected` and `actual` are both there. */
  readonly lacks?: readonly ('expected' | 'actual' | 'source')[];
}

function stateOf(arrays: readonly kn.NDArray[]): unknown {
  return {
    arrays: arrays.map((array) => [
      kn.isDeferred(array) ? 'lazy' : [...array.dataSync()],
      array.grad === null || kn.isDeferred(array.grad) ? null : [...array.grad.dataSync()],
    ]),
    random: kn.random.getState(),
    modes: [autograd.isRecording(), autograd.isTraining()],
  };
}

/** Expects a mistake to be refused as said, with the line of a test file, and without any effect. */
export function refused(
  act: () => unknown,
  refusal: Refusal,
  untouched: readonly kn.NDArray[] = [],
): kn.KaonError {
  const before = stateOf(untouched);
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  check(thrown, refusal);
  assert.deepEqual(stateOf(untouched), before);
  return thrown as kn.KaonError;
}

/** The same for what is refused through a promise. */
export async function refusedLater(
  act: () => Promise<unknown>,
  refusal: Refusal,
  untouched: readonly kn.NDArray[] = [],
): Promise<void> {
  const before = stateOf(untouched);
  const thrown = await act().then(
    () => undefined,
    (error: unknown) => error,
  );
  check(thrown, refusal);
  assert.deepEqual(stateOf(untouched), before);
}

function check(thrown: unknown, { kind, op, says, lacks = [] }: Refusal): void {
  assert.ok(thrown instanceof kind, `expected ${kind.name}, got ${String(thrown)}`);
  assert.ok(thrown instanceof kn.KaonError && thrown instanceof Error);
  const own = [...codes].find(([each]) => thrown instanceof each);
  assert.deepEqual([thrown.name, thrown.code], [own?.[0].name, own?.[1]]);
  if (op !== undefined) assert.equal(thrown.op, op, thrown.message);
  if (typeof says === 'string') assert.ok(thrown.message.includes(says), thrown.message);
  else assert.match(thrown.message, says);
  for (const field of ['expected', 'actual'] as const) {
    if (lacks.includes(field)) continue;
    assert.ok((thrown[field] ?? '') !== '', `${field} is missing: ${thrown.message}`);
  }
  if (lacks.includes('source')) return;
  assert.match(thrown.source ?? 'no line', /test\/contract\/[\w-]+\.test\.[jt]s:\d+:\d+$/);
}

/** A mistake that every form of the code must refuse alike. */
export function refusedInEveryForm<I extends Arrays>(
  line: string,
  inputs: () => I,
  code: Code<I>,
  refusal: Refusal,
): void {
  const hybrid = kn.hybridize(code);
  const outer = kn.hybridize((given: I) => hybrid(given));
  const forms: Readonly<Record<string, (given: I) => unknown>> = {
    eager: code,
    recorded: (given) => autograd.record(() => code(given)),
    deferred: (given) => kn.deferredCompute(() => code(given)),
    hybridized: hybrid,
    'hybridized, again': hybrid,
    'hybridized and recorded': (given) => autograd.record(() => hybrid(given)),
    'hybridized inside of another': outer,
  };
  void test(line, async (t) => {
    const given = inputs();
    const eager = refused(() => code(given), refusal, Object.values(given));
    for (const [name, form] of Object.entries(forms)) {
      await t.test(name, () => {
        const error = refused(() => form(given), refusal, Object.values(given));
        const text = ({ problem, expected, actual, advice }: kn.KaonError): unknown[] => [problem, expected, actual, advice]; // prettier-ignore
        assert.deepEqual(text(error), text(eager));
      });
    }
    assert.equal(hybrid.explain().traces.length, 0);
  });
}
