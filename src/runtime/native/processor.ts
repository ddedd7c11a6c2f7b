import { type Target, wasmTarget } from '../../loop/target.js';

/** What a compiler defines before it reads anything: its version, and the processor that it compiles for. */
export type Macros = ReadonlyMap<string, string>;

/** Reads what `cc -dM -E` prints; other lines mean nothing. */
export function parseMacros(text: string): Macros {
  const macros = new Map<string, string>();
  for (const [, name, value] of text.matchAll(/^#define (\w+) ?(.*)$/gm)) macros.set(name, value);
  return macros;
}

/** Kinds of processors by what tells them, the most able first. */
const kinds: readonly (Omit<Target, 'firstCache' | 'secondCache' | 'fusesMultiplyAdd'> & {
  readonly macro: string;
})[] = [
  { macro: '__AVX512F__', name: 'avx512', vectorBytes: 64, vectorRegisters: 32 },
  { macro: '__AVX2__', name: 'avx2', vectorBytes: 32, vectorRegisters: 16 },
  { macro: '__SSE2__', name: 'sse', vectorBytes: 16, vectorRegisters: 16 },
  { macro: '__ARM_NEON', name: 'neon', vectorBytes: 16, vectorRegisters: 32 },
];

/** What programs are lowered for when this compiler is to compile them. */
export function targetOf(macros: Macros): Target {
  const { firstCache, secondCache } = wasmTarget;
  const known = kinds.find(({ macro }) => macros.has(macro));
  if (known === undefined) {
    const { vectorBytes, vectorRegisters } = wasmTarget;
    return { name: 'generic', vectorBytes, vectorRegisters, fusesMultiplyAdd: false, firstCache, secondCache }; // prettier-ignore
  }
  const { macro: _, ...kind } = known;
  const fusesMultiplyAdd = macros.has('__FMA__') || macros.has('__ARM_FEATURE_FMA');
  return { ...kind, fusesMultiplyAdd, firstCache, secondCache };
}

/** Why results of this compiler could differ from those of the loop IR; null where they cannot. */
export function obstacleIn(macros: Macros): string | null {
  // 1 and 2 round to wider types than those that the code names.
  if (!['0', '16'].includes(macros.get('__FLT_EVAL_METHOD__') ?? '0')) {
    return 'its arithmetic is of another precision than the code asks for';
  }
  if (!macros.has('__BYTE_ORDER__')) return 'it does not say what it compiles for';
  if (macros.get('__BYTE_ORDER__') !== '__ORDER_LITTLE_ENDIAN__') {
    return 'the processor has its bytes in another order than the device';
  }
  return null;
}
