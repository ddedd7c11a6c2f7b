import * as kn from '../../src/index.js';

/** What users pass by mistake: values of every kind, made anew for each call. */

/** Thrown by functions, getters and traps of the campaign: code of users may throw what it likes. */
export class UsersError extends Error {}

const complain = (): never => {
  throw new UsersError('an error of the user');
};

class Foreign {
  readonly own = 1;
}

function detached<A extends Float32Array | Int32Array | Uint8Array>(array: A): A {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

function cyclicList(): unknown {
  const list: unknown[] = [1];
  list.push(list);
  return list;
}

function cyclicObject(): unknown {
  const object: Record<string, unknown> = { a: 1 };
  object['self'] = object;
  return object;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** An array that only the campaign's own call sees. */
const array = (data: kn.HostValue, dtype: kn.DType): kn.NDArray => kn.array(data, { dtype });

const deep = (depth: number): unknown => {
  let list: unknown = 1;
  for (let i = 0; i < depth; i++) list = [list];
  return list;
};

export const hostileValues: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  zero: () => 0,
  '-0': () => -0,
  one: () => 1,
  two: () => 2,
  '-1': () => -1,
  '-7': () => -7,
  '99': () => 99,
  half: () => 0.5,
  '-1.5': () => -1.5,
  NaN: () => NaN,
  Infinity: () => Infinity,
  '-Infinity': () => -Infinity,
  '2^40': () => 2 ** 40,
  '-2^40': () => -(2 ** 40),
  '2^53': () => 2 ** 53,
  '2^53-1': () => Number.MAX_SAFE_INTEGER,
  '1e308': () => 1e308,
  '5e-324': () => 5e-324,
  bigint: () => 1n,
  'large bigint': () => 2n ** 70n,
  symbol: () => Symbol('s'),
  'symbol iterator': () => Symbol.iterator,
  'empty string': () => '',
  'string digit': () => '1',
  'string word': () => 'same',
  'string float32': () => 'float32',
  'string int64': () => 'int64',
  'string __proto__': () => '__proto__',
  'string constructor': () => 'constructor',
  'string with nul': () => 'a\0b',
  'long string': () => 'ab'.repeat(5000),
  'string json': () => '{"a": [1, 2]}',
  'lone surrogate': () => '\ud800',
  'empty list': () => [],
  'list of one': () => [1],
  'list of two': () => [1, 2],
  'list of negatives': () => [-1, -1],
  'list of zeros': () => [0, 0],
  'list of fractions': () => [0.5, 1.5],
  'list of huge': () => [2 ** 20, 2 ** 20],
  'list of 2^53': () => [2 ** 53, 2 ** 53],
  'list with NaN': () => [NaN],
  'list of strings': () => ['a', 'b'],
  'list of nulls': () => [null, null],
  'list of undefined': () => [undefined],
  'list of bigints': () => [1n, 2n],
  'list of symbols': () => [Symbol('s')],
  'list of objects': () => [{}, {}],
  'list of functions': () => [() => 1],
  'list with holes': () => [1, , 3], // eslint-disable-line no-sparse-arrays
  'list of holes': () => Object.assign([], { length: 3 }),
  'ragged list': () => [[1, 2], [3]],
  'mixed list': () => [1, 'a', null, [2]],
  'long list': () => Array.from({ length: 300 }, (_, i) => i),
  'deep list': () => deep(40),
  'very deep list': () => deep(20_000),
  'cyclic list': cyclicList,
  'list that throws': () => Object.defineProperty([1, 2], 0, { get: complain }),
  'list of one array': () => [array([1, 2], 'float32')],
  'list of arrays': () => [array([1, 2], 'float32'), array([3, 4], 'float32')],
  'list of odd arrays': () => [array([1, 2], 'float32'), array([[true]], 'bool')],
  'empty object': () => ({}),
  'object with numbers': () => ({ a: 1, b: [2] }),
  'object with shape': () => ({ shape: [2, 3], dtype: 'float32' }),
  'object with length': () => ({ length: 3 }),
  'object with huge length': () => ({ length: 2 ** 40 }),
  'object without prototype': () => Object.create(null) as unknown,
  'object with __proto__ key': () => JSON.parse('{"__proto__": {"a": 1}}') as unknown,
  'object with symbol key': () => ({ [Symbol('k')]: 1 }),
  'object with constructor': () => ({ constructor: 1, toString: 2 }),
  'object with then': () => ({ then: 1 }), // oxlint-disable-line unicorn/no-thenable -- on purpose
  'frozen object': () => Object.freeze({ a: 1 }),
  'cyclic object': cyclicObject,
  'object with throwing getter': () => Object.defineProperty({}, 'dtype', { get: complain, enumerable: true }), // prettier-ignore
  'class instance': () => new Foreign(),
  class: () => Foreign,
  Date: () => new Date(0),
  'invalid Date': () => new Date(NaN),
  RegExp: () => /a/,
  Map: () => new Map([['a', 1]]),
  Set: () => new Set([1]),
  WeakMap: () => new WeakMap(),
  Error: () => new Error('an error that is passed, not thrown'),
  Promise: () => Promise.resolve(1),
  'boxed number': () => Object(1) as unknown,
  'boxed string': () => Object('a') as unknown,
  'boxed symbol': () => Object(Symbol('s')) as unknown,
  function: () => () => 1,
  'function of arrays': () => (x: unknown) => x,
  'function of two': () => (a: unknown, b: unknown) => [a, b],
  'function that gives null': () => () => null,
  'function that gives a string': () => () => 'a',
  'function that gives NaN': () => () => NaN,
  'function that gives a Map': () => () => new Map(),
  'function that throws': () => complain,
  'function that throws a string': () => () => {
    throw new UsersError('by a function');
  },
  'async function': () => () => Promise.resolve(1),
  generator: () => function* () {}, // prettier-ignore
  iterator: () => [1, 2][Symbol.iterator](),
  'proxy of object': () => new Proxy({ a: 1 }, {}),
  'proxy of list': () => new Proxy([1, 2], {}),
  'proxy of function': () => new Proxy(() => 1, {}),
  'proxy that throws': () => new Proxy({}, { get: complain, has: complain, ownKeys: complain, getPrototypeOf: complain }), // prettier-ignore
  'revoked proxy': () => revoked({}),
  'revoked list': () => revoked([]),
  ArrayBuffer: () => new ArrayBuffer(8),
  SharedArrayBuffer: () => new SharedArrayBuffer(8),
  DataView: () => new DataView(new ArrayBuffer(8)),
  Float32Array: () => new Float32Array([1, 2, 3]),
  'empty Float32Array': () => new Float32Array(),
  Uint8Array: () => new Uint8Array([1, 2, 3]),
  Uint16Array: () => new Uint16Array([1, 2, 3]),
  BigInt64Array: () => new BigInt64Array([1n, 2n]),
  BigUint64Array: () => new BigUint64Array([2n ** 63n]),
  'shared Float32Array': () => new Float32Array(new SharedArrayBuffer(16)),
  'detached Float32Array': () => detached(new Float32Array(4)),
  'detached Int32Array': () => detached(new Int32Array(4)),
  'detached Uint8Array': () => detached(new Uint8Array(4)),
  Buffer: () => Buffer.from([2, 3]),
  'NDArray scalar': () => array(1, 'float32'),
  'NDArray NaN': () => array(NaN, 'float32'),
  'NDArray negative': () => array(-5, 'float32'),
  'NDArray vector': () => array([1, 2, 3], 'float32'),
  'NDArray matrix': () => array([[1, 2, 3], [4, 5, 6]], 'float32'), // prettier-ignore
  'NDArray 5d': () => kn.zeros([1, 2, 1, 2, 1]),
  'NDArray empty': () => kn.zeros([0]),
  'NDArray empty matrix': () => kn.zeros([3, 0]),
  'NDArray int32': () => array([0, 1], 'int32'),
  'NDArray int64': () => array([0, 1], 'int64'),
  'NDArray int64 scalar': () => array(-1, 'int64'),
  'NDArray int8': () => array([-1, 1], 'int8'),
  'NDArray uint8': () => array([0, 255], 'uint8'),
  'NDArray bool': () => array([true, false], 'bool'),
  'NDArray float64': () => array([1, 2], 'float64'),
  'NDArray float16': () => array([1, 2], 'float16'),
  'NDArray bfloat16': () => array([1, 2], 'bfloat16'),
  'NDArray far positions': () => array([99, -99], 'int32'),
  'NDArray lazy': () => kn.deferredCompute(() => kn.add(array([1, 2], 'float32'), 1)),
  'NDArray class': () => kn.NDArray,
  'NDArray prototype': () => kn.NDArray.prototype,
  'NDArray from prototype': () => Object.create(kn.NDArray.prototype) as unknown,
  dimension: () => kn.dim('n'),
  'bounded dimension': () => kn.dim('n', { min: 2, max: 4 }),
  block: () => new kn.nn.Dense(2),
  parameter: () => new kn.nn.Parameter({ shape: [2] }),
  operator: () => kn.add,
  module: () => kn.nn,
  globalThis: () => globalThis,
};
