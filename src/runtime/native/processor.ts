import type { NodeModules } from '../../base/node.js';
import { avx2Target, avx512Target, neonTarget, type Target, wasmTarget } from '../../loop/language/target.js'; // prettier-ignore

/** Predefined macros of a compiler: its version, and the processor that it compiles for. */
export type Macros = ReadonlyMap<string, string>;

/** Parses the output of `cc -dM -E`; other lines are ignored. */
export function parseMacros(text: string): Macros {
  const macros = new Map<string, string>();
  for (const [, name, value] of text.matchAll(/^#define (\w+) ?(.*)$/gm)) macros.set(name, value);
  return macros;
}

/** Baseline x64. */
const sseTarget: Target = { ...wasmTarget, name: 'sse', vectorRegisters: 16 };

/** Processors by the macro that identifies them, most capable first. */
const kinds: readonly (readonly [string, Target])[] = [
  ['__AVX512F__', avx512Target],
  ['__AVX2__', avx2Target],
  ['__SSE2__', sseTarget],
  ['__ARM_NEON', neonTarget],
];

/** The target for programs that this compiler compiles. */
export function targetOf(macros: Macros, caches: Partial<Caches>): Target {
  const known = kinds.find(([macro]) => macros.has(macro));
  const target = known?.[1] ?? { ...wasmTarget, name: 'generic' };
  const fusesMultiplyAdd = macros.has('__FMA__') || macros.has('__ARM_FEATURE_FMA');
  return { ...target, fusesMultiplyAdd: known !== undefined && fusesMultiplyAdd, ...caches };
}

/** The caches of one core, in bytes. */
export type Caches = Pick<Target, 'firstCache' | 'secondCache'>;

/** Cache sizes from the system; empty when unknown. */
export function cachesOf({ files, path }: NodeModules): Partial<Caches> {
  const folder = '/sys/devices/system/cpu/cpu0/cache';
  const caches: { firstCache?: number; secondCache?: number } = {};
  try {
    for (const name of files.readdirSync(folder)) {
      if (!name.startsWith('index')) continue;
      const [level, type, size] = ['level', 'type', 'size'].map((fact) =>
        files.readFileSync(path.join(folder, name, fact), 'utf8').trim(),
      );
      const [, digits, unit] = /^(\d+)([KM]?)$/.exec(size) ?? [];
      if (type === 'Instruction' || digits === undefined) continue;
      const bytes = Number(digits) * (unit === 'K' ? 2 ** 10 : unit === 'M' ? 2 ** 20 : 1);
      if (level === '1') caches.firstCache = bytes;
      else if (level === '2') caches.secondCache = bytes;
    }
  } catch {
    // Unknown: typical sizes of the processor are assumed.
  }
  return caches;
}

/** Reason why results of this compiler could differ from those of the loop IR; null for none. */
export function incompatibility(macros: Macros): string | null {
  // 1 and 2 round to wider types than the code's.
  if (!['0', '16'].includes(macros.get('__FLT_EVAL_METHOD__') ?? '0')) {
    return 'its arithmetic is of another precision than the code asks for';
  }
  if (!macros.has('__BYTE_ORDER__')) return 'it does not say what it compiles for';
  if (macros.get('__BYTE_ORDER__') !== '__ORDER_LITTLE_ENDIAN__') {
    return 'the processor has its bytes in another order than the device';
  }
  return null;
}
