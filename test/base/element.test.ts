import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocate, type DType } from '../../src/base/dtype.js';
import {
  type Element,
  fromBFloat16Bits,
  fromFloat16Bits,
  readElement,
  toBFloat16Bits,
  toFloat16Bits,
  widened,
  writeElement,
} from '../../src/base/element.js';

interface Format {
  readonly name: string;
  readonly exponentBits: number;
  readonly fractionBits: number;
  to(value: number): number;
  from(bits: number): number;
}

const formats: readonly Format[] = [
  { name: 'float16', exponentBits: 5, fractionBits: 10, to: toFloat16Bits, from: fromFloat16Bits },
  {
    name: 'bfloat16',
    exponentBits: 8,
    fractionBits: 7,
    to: toBFloat16Bits,
    from: fromBFloat16Bits,
  },
];

/** What bits mean, from IEEE 754 section 3.4. */
function decode({ exponentBits, fractionBits }: Format, bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  const bias = 2 ** (exponentBits - 1) - 1;
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

for (const format of formats) {
  const all = Array.from({ length: 65536 }, (_, bits) => bits);
  const isNaNBits = (bits: number): boolean => Number.isNaN(decode(format, bits));

  test(`${format.name}: every pattern means what IEEE 754 says`, () => {
    for (const bits of all)
      assert.ok(Object.is(format.from(bits), decode(format, bits)), `${bits}`);
  });

  test(`${format.name}: every pattern survives a round trip`, () => {
    for (const bits of all) {
      const again = format.to(format.from(bits));
      assert.ok(isNaNBits(bits) ? isNaNBits(again) : again === bits, `${bits} became ${again}`);
    }
  });

  test(`${format.name}: numbers between neighbors go to the nearest, ties to the even one`, () => {
    const infinite = (2 ** format.exponentBits - 1) << format.fractionBits;
    for (let bits = 0; bits < infinite; bits++) {
      const low = decode(format, bits);
      // The neighbor of the greatest finite number, for rounding, is what would follow it.
      const high =
        bits + 1 === infinite ? low + (low - decode(format, bits - 1)) : decode(format, bits + 1);
      const middle = (low + high) / 2; // exact in a double
      const even = bits % 2 === 0 ? bits : bits + 1;
      const step = Math.max(middle * 2 ** -23, 2 ** -149); // next to the middle as float32 sees it
      assert.equal(format.to(middle), even, `middle above ${bits}`);
      assert.equal(format.to(-middle), even | 0x8000);
      if (Math.fround(middle - step) > low) assert.equal(format.to(middle - step), bits);
      if (Math.fround(middle + step) < high) assert.equal(format.to(middle + step), bits + 1);
    }
    assert.equal(format.to(Infinity), infinite);
    assert.equal(format.to(-Infinity), infinite | 0x8000);
    assert.equal(format.to(3.4e38), infinite);
    assert.ok(isNaNBits(format.to(NaN)));
    assert.equal(format.to(-0), 0x8000);
    assert.equal(format.to(5e-324), 0);
  });
}

test('elements read back as users write them', () => {
  const cases: [DType, Element, Element][] = [
    ['float32', 0.1, Math.fround(0.1)],
    ['float64', 0.1, 0.1],
    ['float16', 65504, 65504],
    ['float16', 1e6, Infinity],
    ['bfloat16', 1 / 3, 0.333984375],
    ['int8', 127, 127],
    ['int8', 128, -128],
    ['int8', -1.9, -1],
    ['uint8', -1, 255],
    ['int32', 2 ** 31, -(2 ** 31)],
    ['int64', 2n ** 63n, -(2n ** 63n)],
    ['int64', -7.9, -7n],
    ['int64', true, 1n],
    ['bool', 2, true],
    ['bool', 0, false],
    ['bool', NaN, true],
    ['bool', 0n, false],
    ['float32', 3n, 3],
    ['float32', true, 1],
  ];
  for (const [dtype, value, expected] of cases) {
    const home = allocate(dtype, 2);
    writeElement(dtype, home, 1, value);
    assert.ok(Object.is(readElement(dtype, home, 1), expected), `${String(value)} as ${dtype}`);
    assert.equal(Number(home[0]), 0);
  }
});

test('elements of 16 bits widen to the numbers that they are, others stay where they are', () => {
  const values = [0, 1, -2.5, 1024, Infinity];
  for (const dtype of ['float16', 'bfloat16'] as const) {
    const elements = allocate(dtype, values.length);
    values.forEach((value, i) => writeElement(dtype, elements, i, value));
    assert.deepEqual([...widened(dtype, elements)], values);
  }
  const wide = Float64Array.of(1, 2);
  assert.equal(widened('float64', wide), wide);
});
