/*
 * What the browser of `browser.test.ts` runs: it loads what the test serves, computes, and sends back what
 * it has computed.
 */

import type * as kn from '../../src/index.js';

/** An array on its way between Node and the browser. */
export interface Sent {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: readonly number[];
}

/** What the page is to compute: modules by their paths, each with its feeds. */
export interface Work {
  readonly models: readonly {
    readonly path: string;
    readonly feeds: readonly Readonly<Record<string, Sent>>[];
  }[];
  /** The package's own bundle. */
  readonly library: string;
}

export interface Done {
  readonly models: readonly (readonly Readonly<Record<string, Sent>>[])[];
  readonly library: Readonly<Record<string, unknown>>;
  readonly error?: string;
}

interface Model {
  run(feeds: Readonly<Record<string, unknown>>): Readonly<Record<string, Result>>;
}

interface Result {
  readonly data: { readonly buffer: ArrayBufferLike; readonly byteOffset: number; readonly byteLength: number }; // prettier-ignore
  readonly shape: readonly number[];
  readonly dtype: string;
}

type Library = typeof kn;

const typedArrays = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

function received({ dtype, shape, bytes }: Sent): unknown {
  const TypedArray = typedArrays[dtype as keyof typeof typedArrays];
  return { data: new TypedArray(Uint8Array.from(bytes).buffer), shape };
}

function sent({ data: { buffer, byteOffset, byteLength }, shape, dtype }: Result): Sent {
  return { dtype, shape, bytes: Array.from(new Uint8Array(buffer, byteOffset, byteLength)) };
}

const mapped = <A, B>(
  record: Readonly<Record<string, A>>,
  map: (value: A) => B,
): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));

/** One eager call, one captured one with its gradient, and one in the background: numbers without rounding. */
export async function useLibrary(lib: Library): Promise<Readonly<Record<string, unknown>>> {
  const x = lib.array([[1, 2], [3, -4]]); // prettier-ignore
  const f = lib.hybridize((a: kn.NDArray) => a.matmul(a).relu().sum());
  return {
    eager: x.matmul(x).add(1).tolist(),
    captured: f(x).item(),
    gradient: lib.grad(f)(x).tolist(),
    read: Array.from((await x.mul(2).data()) as Float32Array),
  };
}

export async function work({ models, library }: Work): Promise<Done> {
  const made: Done['models'][number][] = [];
  for (const { path, feeds } of models) {
    const model = (await import(path)) as Model;
    made.push(feeds.map((feed) => mapped(model.run(mapped(feed, received)), sent)));
  }
  return { models: made, library: await useLibrary((await import(library)) as Library) };
}

/** Asks for work, does it, and answers. */
export async function main(): Promise<void> {
  const asked = await fetch('/work');
  const done = await work((await asked.json()) as Work).catch((error: unknown): Done => {
    const { message, stack } = error as Error;
    return { models: [], library: {}, error: `${message}\n${stack}` };
  });
  await fetch('/done', { method: 'POST', body: JSON.stringify(done) });
}
