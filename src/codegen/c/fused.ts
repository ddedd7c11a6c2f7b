import { scalarBytes } from '../../loop/build.js';
import type { ExprType } from '../../loop/nodes.js';
import { cType } from './types.js';

/** What declares the instructions that `fusedMultiplyAdd` asks for by name. */
export const fusedHeaders = `#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif`;

/**
 * The body of a function of `a`, `b` and `c` that returns `a * b + c`, rounded once where the processor has
 * one instruction for it. GCC contracts nothing in a file that is compiled with `-ffp-contract=off`, so
 * vectors that fill a register ask for the instruction by its name, and others go lane by lane.
 */
export function fusedMultiplyAdd(type: ExprType): string {
  const { scalar, lanes } = type;
  const made = cType(type);
  const suffix = scalar === 'f32' ? 's' : 'd';
  const bits = 8 * lanes * scalarBytes(scalar);
  const ways: (readonly [condition: string, text: string])[] = [];
  if (lanes > 1 && bits >= 128 && bits <= 512) {
    const native = `__m${bits}${suffix === 'd' ? 'd' : ''}`;
    const call = `_mm${bits === 128 ? '' : bits}_fmadd_p${suffix}`;
    const operands = ['a', 'b', 'c'].map((name) => `(${native})${name}`).join(', ');
    ways.push([bits === 512 ? 'defined(__AVX512F__)' : 'defined(__FMA__)', `(${made})${call}(${operands})`]); // prettier-ignore
  } else {
    const one = scalar === 'f32' ? '__builtin_fmaf' : '__builtin_fma';
    const each = Array.from({ length: lanes }, (_, l) => `${one}(a[${l}], b[${l}], c[${l}])`);
    const text = lanes === 1 ? `${one}(a, b, c)` : `(${made}){${each.join(', ')}}`;
    ways.push(['defined(__FMA__) || defined(__aarch64__)', text]);
  }
  if (bits === 128) {
    const native = scalar === 'f32' ? 'float32x4_t' : 'float64x2_t';
    const operands = ['c', 'a', 'b'].map((name) => `(${native})${name}`).join(', ');
    const call = scalar === 'f32' ? 'vfmaq_f32' : 'vfmaq_f64';
    ways.push(['defined(__aarch64__)', `(${made})${call}(${operands})`]);
  }
  const lines = ways.flatMap(([condition, text], at) => [
    `#${at === 0 ? 'if' : 'elif'} ${condition}`,
    `  return ${text};`,
  ]);
  return [...lines, '#else', '  return a * b + c;', '#endif'].join('\n');
}
