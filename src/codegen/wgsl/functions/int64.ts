/**
 * 64-bit integers as pairs of words, the low one first. Products are made of halves of words, quotients bit by bit.
 * Casts from and to f32 work on bits, so that they round once and to even.
 */
export const int64Functions: Readonly<Record<string, string>> = {
  k_i64_add: `fn k_i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}`,
  k_i64_neg: `fn k_i64_neg(a: vec2<u32>) -> vec2<u32> {
  return k_i64_add(~a, vec2<u32>(1u, 0u));
}`,
  k_i64_sub: `fn k_i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}`,
  k_u32_mul: `fn k_u32_mul(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
  return vec2<u32>((second << 16u) | (low & 0xffffu), (a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u));
}`,
  k_i64_mul: `fn k_i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = k_u32_mul(a.x, b.x);
  return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}`,
  k_i64_negative: `fn k_i64_negative(a: vec2<u32>) -> bool {
  return (a.y & 0x80000000u) != 0u;
}`,
  k_i64_abs: `fn k_i64_abs(a: vec2<u32>) -> vec2<u32> {
  return select(a, k_i64_neg(a), k_i64_negative(a));
}`,
  k_u64_lt: `fn k_u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}`,
  k_i64_lt: `fn k_i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}`,
  k_i64_min: `fn k_i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(b, a, k_i64_lt(a, b));
}`,
  k_i64_max: `fn k_i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(b, a, k_i64_lt(b, a));
}`,
  k_i64_shl: `fn k_i64_shl(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let n = b.x & 31u;
  let low = a.x << n;
  return select(vec2<u32>(low, (a.y << n) | ((a.x >> 1u) >> (31u - n))), vec2<u32>(0u, low), (b.x & 32u) != 0u);
}`,
  k_i64_shrU: `fn k_i64_shrU(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let n = b.x & 31u;
  let high = a.y >> n;
  return select(vec2<u32>((a.x >> n) | ((a.y << 1u) << (31u - n)), high), vec2<u32>(high, 0u), (b.x & 32u) != 0u);
}`,
  k_i64_shr: `fn k_i64_shr(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let shifted = k_i64_shrU(a, b);
  let n = b.x & 63u;
  if (n == 0u || !k_i64_negative(a)) {
    return shifted;
  }
  return shifted | k_i64_shl(vec2<u32>(0xffffffffu), vec2<u32>(64u - n, 0u));
}`,
  // Quotient and remainder of magnitudes.
  k_u64_divide: `fn k_u64_divide(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  var quotient = vec2<u32>(0u);
  var rest = vec2<u32>(0u);
  let digits = 64u + k_zero();
  for (var k = 0u; k < digits; k += 1u) {
    let at = 63u - k;
    let word = select(a.x, a.y, at >= 32u);
    let carry = (rest.y & 0x80000000u) != 0u;
    rest = vec2<u32>((rest.x << 1u) | ((word >> (at & 31u)) & 1u), (rest.y << 1u) | (rest.x >> 31u));
    quotient = vec2<u32>(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (carry || !k_u64_lt(rest, b)) {
      rest = k_i64_sub(rest, b);
      quotient.x |= 1u;
    }
  }
  return vec4<u32>(quotient, rest);
}`,
  k_i64_div: `fn k_i64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let quotient = k_u64_divide(k_i64_abs(a), k_i64_abs(b)).xy;
  return select(quotient, k_i64_neg(quotient), k_i64_negative(a) != k_i64_negative(b));
}`,
  k_i64_rem: `fn k_i64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = k_u64_divide(k_i64_abs(a), k_i64_abs(b)).zw;
  return select(rest, k_i64_neg(rest), k_i64_negative(a));
}`,
  k_i32_to_i64: `fn k_i32_to_i64(a: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}`,
  // The 24 leading bits of the magnitude, rounded by what is behind them.
  k_i64_to_f32: `fn k_i64_to_f32(a: vec2<u32>) -> f32 {
  let size = k_i64_abs(a);
  let zeros = select(countLeadingZeros(size.y), 32u + countLeadingZeros(size.x), size.y == 0u);
  if (zeros == 64u) {
    return 0f;
  }
  let scaled = k_i64_shl(size, vec2<u32>(zeros, 0u));
  let behind = (scaled.y << 24u) | select(0u, 1u, scaled.x != 0u);
  let leading = scaled.y >> 8u;
  let up = behind > 0x80000000u || (behind == 0x80000000u && (leading & 1u) == 1u);
  // The leading bit adds 1 to the exponent, and so does what rounding carries.
  let bits = ((189u - zeros) << 23u) + leading + select(0u, 1u, up);
  return bitcast<f32>(bits | (a.y & 0x80000000u));
}`,
  // The whole part of a float of at least 1: its significand, of so many binary places, times 2 to the exponent.
  k_i64_whole: `fn k_i64_whole(significand: vec2<u32>, places: u32, exponent: u32, negative: bool) -> vec2<u32> {
  if (exponent >= 63u) {
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  let size = select(
    k_i64_shrU(significand, vec2<u32>((places - exponent) & 63u, 0u)),
    k_i64_shl(significand, vec2<u32>((exponent - places) & 63u, 0u)),
    exponent >= places,
  );
  return select(size, k_i64_neg(size), negative);
}`,
  k_f32_to_i64: `fn k_f32_to_i64(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x);
  let stored = (bits >> 23u) & 255u;
  if (k_nan(x) || stored < 127u) {
    return vec2<u32>(0u);
  }
  let significand = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
  return k_i64_whole(significand, 23u, stored - 127u, (bits & 0x80000000u) != 0u);
}`,
};
