import type { DType } from '../../base/dtype.js';

/** The typed arrays that hold elements. */
export const typedArrays: Readonly<Record<DType, string>> = {
  float32: 'Float32Array',
  float64: 'Float64Array',
  float16: 'Uint16Array',
  bfloat16: 'Uint16Array',
  int8: 'Int8Array',
  uint8: 'Uint8Array',
  int32: 'Int32Array',
  int64: 'BigInt64Array',
  bool: 'Uint8Array',
};

const entries = Object.entries(typedArrays).map(([dtype, name]) => `${dtype}: ${name}`);

/**
 * Helpers in every module, as text, since it runs without this library: JavaScript that reads feeds and binds
 * sizes. It uses `inputs`, which the module declares before it.
 */
export const helpersText: string = `
const arrays = { ${entries.join(', ')} };

function decode(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** The flat elements of nested lists. */
function flatten(value, depth, shape, into) {
  if (!Array.isArray(value)) {
    if (depth !== shape.length) throw new TypeError('the lists of an input are not all nested alike');
    into.push(value);
    return;
  }
  if (depth === shape.length && into.length === 0) shape.push(value.length);
  if (shape[depth] !== value.length) throw new TypeError('the lists of an input differ in length');
  for (const item of value) flatten(item, depth + 1, shape, into);
}

function shapeFrom({ name, shape }, length) {
  const open = shape.indexOf(null);
  if (open < 0) return shape;
  const known = shape.reduce((product, extent) => product * (extent ?? 1), 1);
  if (shape.indexOf(null, open + 1) >= 0 || known === 0) {
    throw new TypeError(\`input \${name}: its sizes do not follow from its length; give { data, shape }\`);
  }
  return shape.map((extent) => extent ?? length / known);
}

/** A feed as elements and a shape: a typed array, { data, shape }, a number, or nested lists. */
function readFeed(input, feed) {
  const { name, dtype } = input;
  const Elements = arrays[dtype];
  if (feed === undefined || feed === null) throw new TypeError(\`input \${name} is missing\`);
  if (ArrayBuffer.isView(feed)) return checked(input, feed, shapeFrom(input, feed.length));
  if (ArrayBuffer.isView(feed.data)) return checked(input, feed.data, [...feed.shape]);
  const shape = [];
  const elements = [];
  const scalar = !Array.isArray(feed);
  if (scalar) elements.push(feed);
  else flatten(feed, 0, shape, elements);
  if (dtype === 'float16' || dtype === 'bfloat16') {
    throw new TypeError(\`input \${name}: give the bits of its \${dtype} elements as a Uint16Array\`);
  }
  return checked(input, Elements.from(elements, dtype === 'int64' ? BigInt : Number), shape);
}

function checked({ name, dtype, shape: declared }, data, shape) {
  if (!(data instanceof arrays[dtype])) {
    throw new TypeError(\`input \${name}: expected \${arrays[dtype].name} (\${dtype}), got \${data.constructor.name}\`);
  }
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (shape.length !== declared.length || count !== data.length) {
    const wanted = declared.map((extent) => extent ?? '?').join(', ');
    throw new RangeError(\`input \${name}: expected [\${wanted}], got [\${shape.join(', ')}] with \${data.length} elements\`);
  }
  return { data, shape };
}

/** The size of a dimension from an extent that is scale * size + offset. */
function solve(dimension, name, axis, extent, scale, offset, least, most) {
  const size = (extent - offset) / scale;
  if (!Number.isInteger(size) || size < least || size > most) {
    throw new RangeError(\`input \${name}, axis \${axis}: no \${dimension} of \${least} to \${most} gives \${extent}\`);
  }
  return size;
}

function expect(name, axis, extent, wanted) {
  if (extent !== wanted) throw new RangeError(\`input \${name}, axis \${axis}: expected \${wanted}, got \${extent}\`);
}
`;

/** The memory of a model, which grows with the sizes. Part of `open`. */
export const memoryText: string = `
const view = (dtype, address, length) => new arrays[dtype](memory.buffer, address, length);
const reserve = (bytes) => {
  if (!(bytes <= 2147483647)) throw new RangeError(\`\${bytes} bytes are more than a module can hold\`);
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
};
const move = (to, from, bytes) => view('uint8', 0, memory.buffer.byteLength).copyWithin(to, from, from + bytes);
const stage = ({ data }, dtype, address) => view(dtype, address, data.length).set(data);
const contents = decode(residentBytes);
reserve(residents.reduce((end, [address, length]) => Math.max(end, address + length), 0));
let from = 0;
for (const [address, length] of residents) {
  view('uint8', address, length).set(contents.subarray(from, from + length));
  from += length;
}
`;

/** Interface of a model. Part of `open`, after `compute`, which stages inputs and runs it. */
export const modelText: string = `
const lengthOf = (shape) => shape.reduce((product, extent) => product * extent, 1);
const stateOf = (name) => {
  const state = states.find((each) => each.name === name);
  if (state === undefined) throw new TypeError(\`there is no state \${name}, but \${states.map((each) => each.name).join(', ')}\`);
  return { ...state, length: lengthOf(state.shape) };
};
return {
  run(feeds = {}) {
    for (const name of Object.keys(feeds)) {
      if (!inputs.some((input) => input.name === name)) throw new TypeError(\`there is no input \${name}\`);
    }
    const given = inputs.map((input) => readFeed(input, feeds[input.name]));
    const results = compute(given, bindSizes(given.map(({ shape }) => shape)));
    return Object.fromEntries(outputs.map(({ name, dtype }, i) => {
      const { address, shape } = results[i];
      return [name, { data: view(dtype, address, lengthOf(shape)).slice(), shape, dtype }];
    }));
  },
  getState(name) {
    const { dtype, shape, address, length } = stateOf(name);
    return { data: view(dtype, address, length).slice(), shape, dtype };
  },
  setState(name, data) {
    const state = stateOf(name);
    view(state.dtype, state.address, state.length).set(checked(state, data, state.shape).data);
  },
};
`;
