// As much of the protocol buffer format as an ONNX file needs: fields of whole numbers, floats and bytes.

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

const key = (field, type) => varint((field << 3) | type);

/** A whole number. */
export const number = (field, value) => Buffer.concat([key(field, 0), varint(value)]);

/** Bytes, text, or a message in parts. */
export function bytes(field, value) {
  const content = Array.isArray(value) ? Buffer.concat(value) : Buffer.from(value);
  return Buffer.concat([key(field, 2), varint(content.length), content]);
}

export function float(field, value) {
  const content = Buffer.alloc(4);
  content.writeFloatLE(value);
  return Buffer.concat([key(field, 5), content]);
}
