/**
 * IEEE 754 in 64 bits, of 32-bit integers: GPUs have none, and operators on float32 compute some of what they need in
 * more digits. A number is the pair of its words, the low one first; every operation rounds to nearest, ties to even.
 *
 * Subnormal numbers are 0, as they may be in float32, and functions have few branches: what GPUs do for one thread they do
 * for its neighbors.
 *
 * Loops over digits have a length that compilers do not know, since they would unroll them.
 *
 * `k_f64_parts` gives a significand with its leading bit at 52, and the exponent as it is stored. `k_f64_round` takes one with its leading bit at 62, whose lowest bit stands for all that was cut off, and the
 * exponent less 1, since the leading bit adds 1 to it.
 */
export const float64Functions: Readonly<Record<string, string>> = {
  k_u64_zeros: `fn k_u64_zeros(a: vec2<u32>) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}`,
  k_u64_jam: `fn k_u64_jam(a: vec2<u32>, count: u32) -> vec2<u32> {
  let n = vec2<u32>(min(count, 63u), 0u);
  let kept = k_i64_shrU(a, n);
  return vec2<u32>(kept.x | select(0u, 1u, any(k_i64_shl(kept, n) != a)), kept.y);
}`,
  k_f64_size: `fn k_f64_size(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x, a.y & 0x7fffffffu);
}`,
  k_f64_zero: `fn k_f64_zero(a: vec2<u32>) -> bool {
  return (a.y & 0x7ff00000u) == 0u;
}`,
  k_f64_infinite: `fn k_f64_infinite(a: vec2<u32>) -> bool {
  return all(k_f64_size(a) == vec2<u32>(0u, 0x7ff00000u));
}`,
  k_f64_nan: `fn k_f64_nan(a: vec2<u32>) -> bool {
  return k_u64_lt(vec2<u32>(0u, 0x7ff00000u), k_f64_size(a));
}`,
  k_f64_parts: `fn k_f64_parts(a: vec2<u32>) -> vec3<u32> {
  let stored = (a.y >> 20u) & 0x7ffu;
  return select(vec3<u32>(0u), vec3<u32>(a.x, (a.y & 0xfffffu) | 0x100000u, stored), stored != 0u);
}`,
  k_f64_round: `fn k_f64_round(sign: u32, exponent: i32, significand: vec2<u32>) -> vec2<u32> {
  let up = k_i64_add(significand, vec2<u32>(0x200u, 0u));
  let even = select(0xffffffffu, 0xfffffffeu, (significand.x & 0x3ffu) == 0x200u);
  let low = ((up.x >> 10u) | (up.y << 22u)) & even;
  let bits = vec2<u32>(low, ((up.y >> 10u) + (bitcast<u32>(exponent) << 20u)) | sign);
  let infinite = exponent > 0x7fdi || (exponent == 0x7fdi && (up.y & 0x80000000u) != 0u);
  return select(select(bits, vec2<u32>(0u, sign), exponent < 0i), vec2<u32>(0u, sign | 0x7ff00000u), infinite);
}`,
  k_f64_neg: `fn k_f64_neg(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x, a.y ^ 0x80000000u);
}`,
  k_f64_abs: `fn k_f64_abs(a: vec2<u32>) -> vec2<u32> {
  return k_f64_size(a);
}`,
  k_f64_add: `fn k_f64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let turned = k_u64_lt(k_f64_size(a), k_f64_size(b));
  let more = select(a, b, turned);
  let less = select(b, a, turned);
  let x = k_f64_parts(more);
  let y = k_f64_parts(less);
  let first = vec2<u32>(x.x << 9u, (x.y << 9u) | (x.x >> 23u));
  let second = k_u64_jam(vec2<u32>(y.x << 9u, (y.y << 9u) | (y.x >> 23u)), x.z - y.z);
  let contrary = ((more.y ^ less.y) & 0x80000000u) != 0u;
  let sum = k_i64_add(first, select(second, k_i64_neg(second), contrary));
  let sign = more.y & 0x80000000u;
  let zeros = k_u64_zeros(sum) - 1u;
  let rounded = k_f64_round(sign, bitcast<i32>(x.z) - i32(zeros), k_i64_shl(sum, vec2<u32>(zeros, 0u)));
  let nothing = vec2<u32>(0u, select(sign, 0u, contrary));
  let finite = select(rounded, nothing, all(sum == vec2<u32>(0u)));
  // The greater one of two is what is not finite; infinities of two signs are NaN.
  let bad = contrary && k_f64_infinite(less);
  return select(finite, select(more, vec2<u32>(0u, 0x7ff80000u), bad), x.z == 0x7ffu);
}`,
  k_f64_sub: `fn k_f64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return k_f64_add(a, k_f64_neg(b));
}`,
  k_f64_mul: `fn k_f64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let sign = (a.y ^ b.y) & 0x80000000u;
  let p = k_f64_parts(a);
  let q = k_f64_parts(b);
  let x = vec2<u32>(p.x << 10u, (p.y << 10u) | (p.x >> 22u));
  let y = vec2<u32>(q.x << 11u, (q.y << 11u) | (q.x >> 21u));
  let low = k_u32_mul(x.x, y.x);
  let cross = k_i64_add(k_u32_mul(x.x, y.y), vec2<u32>(low.y, 0u));
  let other = k_u32_mul(x.y, y.x);
  let middle = k_i64_add(cross, other);
  let carry = select(0u, 1u, k_u64_lt(middle, other));
  let high = k_i64_add(k_u32_mul(x.y, y.y), vec2<u32>(middle.y, carry));
  let jammed = vec2<u32>(high.x | select(0u, 1u, (low.x | middle.x) != 0u), high.y);
  let small = (high.y & 0x40000000u) == 0u;
  let exponent = bitcast<i32>(p.z + q.z) - select(1023i, 1024i, small);
  let rounded = k_f64_round(sign, exponent, select(jammed, k_i64_add(jammed, jammed), small));
  let nothing = k_f64_zero(a) || k_f64_zero(b);
  let infinite = p.z == 0x7ffu || q.z == 0x7ffu;
  let bad = k_f64_nan(a) || k_f64_nan(b) || (infinite && nothing);
  let finite = select(rounded, vec2<u32>(0u, sign), nothing);
  return select(select(finite, vec2<u32>(0u, sign | 0x7ff00000u), infinite), vec2<u32>(0u, 0x7ff80000u), bad);
}`,
  k_f64_div: `fn k_f64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let sign = (a.y ^ b.y) & 0x80000000u;
  let undefined_ = (k_f64_infinite(a) && k_f64_infinite(b)) || (k_f64_zero(a) && k_f64_zero(b));
  if (k_f64_nan(a) || k_f64_nan(b) || undefined_) {
    return vec2<u32>(0u, 0x7ff80000u);
  }
  if (k_f64_infinite(a) || k_f64_zero(b)) {
    return vec2<u32>(0u, sign | 0x7ff00000u);
  }
  if (k_f64_infinite(b) || k_f64_zero(a)) {
    return vec2<u32>(0u, sign);
  }
  let p = k_f64_parts(a);
  let q = k_f64_parts(b);
  let small = k_u64_lt(p.xy, q.xy);
  var rest = select(p.xy, k_i64_add(p.xy, p.xy), small);
  var quotient = vec2<u32>(0u);
  let digits = 55u + k_zero();
  for (var k = 0u; k < digits; k += 1u) {
    quotient = k_i64_add(quotient, quotient);
    if (!k_u64_lt(rest, q.xy)) {
      rest = k_i64_sub(rest, q.xy);
      quotient.x |= 1u;
    }
    rest = k_i64_add(rest, rest);
  }
  var significand = k_i64_shl(quotient, vec2<u32>(8u, 0u));
  significand.x |= select(0u, 1u, any(rest != vec2<u32>(0u)));
  let exponent = bitcast<i32>(p.z) - bitcast<i32>(q.z) + 1022i - select(0i, 1i, small);
  return k_f64_round(sign, exponent, significand);
}`,
  // Digit by digit, two bits of the radicand for each.
  k_f64_sqrt: `fn k_f64_sqrt(a: vec2<u32>) -> vec2<u32> {
  if (k_f64_nan(a) || k_f64_zero(a)) {
    return a;
  }
  if ((a.y & 0x80000000u) != 0u) {
    return vec2<u32>(0u, 0x7ff80000u);
  }
  if (k_f64_infinite(a)) {
    return a;
  }
  let p = k_f64_parts(a);
  let power = bitcast<i32>(p.z) - 1023i;
  let odd = (power & 1i) != 0i;
  let radicand = select(p.xy, k_i64_add(p.xy, p.xy), odd);
  var rest = vec2<u32>(0u);
  var root = vec2<u32>(0u);
  let digits = 55u + k_zero();
  for (var k = 0u; k < digits; k += 1u) {
    var next = 0u;
    if (k <= 26u) {
      next = k_i64_shrU(radicand, vec2<u32>(52u - 2u * k, 0u)).x & 3u;
    }
    rest = k_i64_shl(rest, vec2<u32>(2u, 0u));
    rest.x |= next;
    var trial = k_i64_shl(root, vec2<u32>(2u, 0u));
    trial.x |= 1u;
    root = k_i64_add(root, root);
    if (!k_u64_lt(rest, trial)) {
      rest = k_i64_sub(rest, trial);
      root.x |= 1u;
    }
  }
  var significand = k_i64_shl(root, vec2<u32>(8u, 0u));
  significand.x |= select(0u, 1u, any(rest != vec2<u32>(0u)));
  return k_f64_round(0u, (power >> 1u) + 1022i, significand);
}`,
  k_f64_trunc: `fn k_f64_trunc(a: vec2<u32>) -> vec2<u32> {
  let stored = (a.y >> 20u) & 0x7ffu;
  if (stored >= 1075u) {
    return a;
  }
  if (stored < 1023u) {
    return vec2<u32>(0u, a.y & 0x80000000u);
  }
  return a & k_i64_shl(vec2<u32>(0xffffffffu), vec2<u32>(1075u - stored, 0u));
}`,
  k_f64_floor: `fn k_f64_floor(a: vec2<u32>) -> vec2<u32> {
  let whole = k_f64_trunc(a);
  let below = any(whole != a) && (a.y & 0x80000000u) != 0u;
  return select(whole, k_f64_add(whole, vec2<u32>(0u, 0xbff00000u)), below);
}`,
  k_f64_ceil: `fn k_f64_ceil(a: vec2<u32>) -> vec2<u32> {
  let whole = k_f64_trunc(a);
  let above = any(whole != a) && (a.y & 0x80000000u) == 0u;
  return select(whole, k_f64_add(whole, vec2<u32>(0u, 0x3ff00000u)), above);
}`,
  // Beside 2^52 there are no bits for a fraction.
  k_f64_nearest: `fn k_f64_nearest(a: vec2<u32>) -> vec2<u32> {
  if (((a.y >> 20u) & 0x7ffu) >= 1075u) {
    return a;
  }
  let big = vec2<u32>(0u, 0x43300000u);
  let whole = k_f64_sub(k_f64_add(k_f64_size(a), big), big);
  return vec2<u32>(whole.x, whole.y | (a.y & 0x80000000u));
}`,
  k_f64_rank: `fn k_f64_rank(a: vec2<u32>) -> vec2<u32> {
  return select(a, a ^ vec2<u32>(0xffffffffu, 0x7fffffffu), (a.y & 0x80000000u) != 0u);
}`,
  k_f64_min: `fn k_f64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let least = select(b, a, k_i64_lt(k_f64_rank(a), k_f64_rank(b)));
  return select(select(least, b, k_f64_nan(b)), a, k_f64_nan(a));
}`,
  k_f64_max: `fn k_f64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let greatest = select(b, a, k_i64_lt(k_f64_rank(b), k_f64_rank(a)));
  return select(select(greatest, b, k_f64_nan(b)), a, k_f64_nan(a));
}`,
  k_f64_eq: `fn k_f64_eq(a: vec2<u32>, b: vec2<u32>) -> bool {
  return !k_f64_nan(a) && (all(a == b) || (k_f64_zero(a) && k_f64_zero(b)));
}`,
  k_f64_lt: `fn k_f64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  let ordered = !k_f64_nan(a) && !k_f64_nan(b) && !(k_f64_zero(a) && k_f64_zero(b));
  return ordered && k_i64_lt(k_f64_rank(a), k_f64_rank(b));
}`,
  k_f32_to_f64: `fn k_f32_to_f64(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x);
  let sign = bits & 0x80000000u;
  let stored = (bits >> 23u) & 255u;
  let fraction = bits & 0x7fffffu;
  if (stored == 255u) {
    return vec2<u32>(fraction << 29u, sign | 0x7ff00000u | (fraction >> 3u));
  }
  if (stored != 0u) {
    return vec2<u32>(fraction << 29u, sign | ((stored + 896u) << 20u) | (fraction >> 3u));
  }
  if (fraction == 0u) {
    return vec2<u32>(0u, sign);
  }
  let zeros = countLeadingZeros(fraction) - 8u;
  let scaled = (fraction << zeros) & 0x7fffffu;
  return vec2<u32>(scaled << 29u, sign | ((897u - zeros) << 20u) | (scaled >> 3u));
}`,
  k_f64_to_f32: `fn k_f64_to_f32(a: vec2<u32>) -> f32 {
  let sign = a.y & 0x80000000u;
  if (k_f64_nan(a)) {
    return k_float(0x7fc00000u);
  }
  let p = k_f64_parts(a);
  let exponent = bitcast<i32>(p.z) - 896i;
  if (k_f64_infinite(a) || exponent > 254i) {
    return k_float(sign | 0x7f800000u);
  }
  let cut = k_u64_jam(p.xy, 27u + u32(clamp(1i - exponent, 0i, 64i))).x;
  let kept = cut >> 2u;
  let up = (cut & 3u) == 3u || ((cut & 3u) == 2u && (kept & 1u) == 1u);
  let bits = (u32(max(exponent, 1i) - 1i) << 23u) + kept + select(0u, 1u, up);
  return k_float(sign | bits);
}`,
  k_i32_to_f64: `fn k_i32_to_f64(x: i32) -> vec2<u32> {
  return k_i64_to_f64(k_i32_to_i64(x));
}`,
  k_i64_to_f64: `fn k_i64_to_f64(a: vec2<u32>) -> vec2<u32> {
  let size = k_i64_abs(a);
  let zeros = k_u64_zeros(size);
  if (zeros == 64u) {
    return vec2<u32>(0u);
  }
  let leading = k_u64_jam(k_i64_shl(size, vec2<u32>(zeros, 0u)), 1u);
  return k_f64_round(a.y & 0x80000000u, 1085i - i32(zeros), leading);
}`,
  k_f64_to_i64: `fn k_f64_to_i64(a: vec2<u32>) -> vec2<u32> {
  let stored = (a.y >> 20u) & 0x7ffu;
  if (k_f64_nan(a) || stored < 1023u) {
    return vec2<u32>(0u);
  }
  return k_i64_whole(k_f64_parts(a).xy, 52u, stored - 1023u, (a.y & 0x80000000u) != 0u);
}`,
  k_f64_to_i32: `fn k_f64_to_i32(a: vec2<u32>) -> i32 {
  let whole = k_f64_to_i64(a);
  let most = vec2<u32>(0x7fffffffu, 0u);
  return bitcast<i32>(k_i64_min(k_i64_max(whole, k_i64_sub(k_i64_neg(most), vec2<u32>(1u, 0u))), most).x);
}`,
};
