// ONNX models, written by hand: what the exporter of this library does is not on trial here.
// Field numbers are those of onnx.proto.
import { bytes, float, number } from './protobuf.mjs';

const elementTypes = { float32: 1 };
/** AttributeProto.AttributeType. */
const attributeTypes = { float: 1, int: 2, ints: 7 };

function valueInfo(field, name, shape) {
  const dims = shape.map((size) => bytes(1, [number(1, size)]));
  const tensor = [number(1, elementTypes.float32), bytes(2, dims)];
  return bytes(field, [bytes(1, name), bytes(2, [bytes(1, tensor)])]);
}

function attribute(name, value) {
  const typed = Array.isArray(value)
    ? [...value.map((entry) => number(8, entry)), number(20, attributeTypes.ints)]
    : Number.isInteger(value)
      ? [number(3, value), number(20, attributeTypes.int)]
      : [float(2, value), number(20, attributeTypes.float)];
  return bytes(5, [bytes(1, name), ...typed]);
}

/** An operator from names to names. Whole numbers become integer attributes, others floats. */
export const node = (operator, inputs, outputs, attributes = {}) =>
  bytes(1, [
    ...inputs.map((name) => bytes(1, name)),
    ...outputs.map((name) => bytes(2, name)),
    bytes(4, operator),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
  ]);

function initializer(name, { data, shape }) {
  const content = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const dims = shape.map((size) => number(1, size));
  return bytes(5, [...dims, number(2, elementTypes.float32), bytes(8, name), bytes(9, content)]);
}

/**
 * A model with `inputs` (shapes by name), `constants` (`{ data, shape }` by name, float32), `nodes` and the
 * names and shapes of `outputs`.
 */
export function modelOf({ inputs, constants = {}, nodes, outputs }) {
  const graph = [
    ...nodes,
    bytes(2, 'graph'),
    ...Object.entries(constants).map(([name, value]) => initializer(name, value)),
    ...Object.entries(inputs).map(([name, shape]) => valueInfo(11, name, shape)),
    ...Object.entries(outputs).map(([name, shape]) => valueInfo(12, name, shape)),
  ];
  const operators = bytes(8, [bytes(1, ''), number(2, 17)]);
  return Buffer.concat([number(1, 8), bytes(7, graph), operators]);
}
