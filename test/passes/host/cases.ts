import { addDim, mulDim, subDim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { ShapeError } from '../../../src/base/errors.js';
import { type CallNode, Program } from '../../../src/ir/program.js';
import { words } from '../../../src/ir/requirement.js';
import { add, take } from '../../../src/ops/index.js';
import {
  Handle,
  type HostStatement,
  type HostPart,
  type Stretch,
} from '../../../src/passes/host/statements.js';
import { program } from '../../runtime/dynamic/host.js';

/** Arrays: %0 to %2 are there, the others are made. */
export const handles: readonly Handle[] = (
  ['float32', 'int32', 'bool', 'float32', 'float32'] as const
).map((dtype: DType, id) => new Handle(id, dtype));
const [floats, ints, bits, made, other] = handles;
const [i, n] = [symbol('i'), symbol('n')];

const elements = (of: Handle, shape: Stretch['shape'], offset: Stretch['offset'] = 0): Stretch => ({ of, shape, offset }); // prettier-ignore

const vector = { dtype: 'float32', shape: [2] } as const;
/** The program that statements of `cases` run. */
export const doubled: Program = program([vector], (x) => [add(x, x)]);
const part: HostPart = { name: 'island 0', program: doubled, isElsewhere: false };

const gathered = new Program();
const taken = gathered.withSource('model.ts:3:7', () =>
  take(gathered.variable('x', vector), gathered.variable('at', { dtype: 'int32', shape: [3] })),
);
/** A call, for errors. */
export const call: CallNode = gathered.node(taken.node) as CallNode;

/** A statement of the host program, in others that it needs, and what comes of it wherever it runs. */
export interface StatementCase {
  readonly body: readonly HostStatement[];
  readonly text: readonly string[];
  /** What names and made arrays are afterwards. */
  readonly names?: Readonly<Record<string, number>>;
  readonly arrays?: ReadonlyMap<Handle, readonly number[]>;
  readonly error?: { readonly name: string; readonly message: RegExp };
}

const step: HostStatement = { kind: 'assign', name: 'i', value: addDim(i, 1) };

/** Values of the names before. */
export const namesBefore: ReadonlyMap<string, number> = new Map([['i', 1], ['n', 3]]); // prettier-ignore

/** Elements of the arrays that are there, which statements may overwrite. */
export const elementsBefore = (): readonly [Float32Array, Int32Array, Uint8Array] => [
  Float32Array.of(0.5, 1.5, 2.5, 3.5),
  Int32Array.of(4, 5, 6),
  Uint8Array.of(1, 0),
];

/** A case for every statement that there is. */
export const cases: Readonly<Record<HostStatement['kind'], StatementCase>> = {
  set: {
    body: [
      { kind: 'set', name: 'm', value: mulDim(n, 2), bound: { most: 8, call } },
      { kind: 'set', name: 'k', value: 7 },
    ],
    text: ['set m = 2*n, at most 8', 'set k = 7'],
    names: { m: 6, k: 7 },
  },
  assign: { body: [step], text: ['i = i + 1'], names: { i: 2 } },
  load: {
    body: [
      { kind: 'load', name: 'm', from: elements(ints, [], i), dtype: 'int32', bound: { most: null, call } }, // prettier-ignore
      { kind: 'load', name: 'flag', from: elements(bits, []), dtype: 'bool' },
    ],
    text: ['load m = %1[] from i, at most any  // model.ts:3:7', 'load flag = %2[]'],
    names: { m: 5, flag: 1 },
  },
  store: {
    body: [{ kind: 'store', to: elements(ints, [], 2), value: addDim(n, i) }],
    text: ['store %1[] from 2 = i + n'],
    arrays: new Map([[ints, [4, 5, 4]]]),
  },
  require: {
    body: [
      { kind: 'require', test: { dim: subDim(n, i), relation: '>=' }, refusal: { error: 'shape', op: 'take', problem: ['there are too few'], expected: ['more'], actual: ['none'] } }, // prettier-ignore
      { kind: 'require', test: { dim: subDim(n, i), relation: '=' }, refusal: { error: 'shape', op: 'take', problem: words`${n} is not ${i}`, expected: words`${i}`, actual: words`${n}`, advice: 'look again', source: 'model.ts:4:1' } }, // prettier-ignore
    ],
    text: [
      'require -i + n >= 0, else take: there are too few',
      'require -i + n = 0, else take: n is not i',
    ],
    error: {
      name: ShapeError.name,
      message: /^take: 3 is not 1\n {2}expected: 1\n {2}actual: {3}3\n {2}advice: {3}look again\n {2}at: {7}model.ts:4:1$/, // prettier-ignore
    },
  },
  repeat: {
    body: [
      {
        kind: 'repeat',
        body: [step, { kind: 'leave', when: { dim: subDim(6, i), relation: '=' } }],
      },
    ],
    text: ['repeat', '  i = i + 1', '  leave when -i + 6 = 0'],
    names: { i: 6 },
  },
  leave: {
    body: [
      {
        kind: 'repeat',
        body: [
          { kind: 'repeat', body: [{ kind: 'leave', when: { dim: i, relation: '>=' } }, step] },
          step,
          { kind: 'leave', when: { dim: subDim(i, 2), relation: '>=' } },
          { kind: 'set', name: 'behind', value: 1 },
        ],
      },
    ],
    text: [
      'repeat',
      '  repeat',
      '    leave when i >= 0',
      '    i = i + 1',
      '  i = i + 1',
      '  leave when i - 2 >= 0',
      '  set behind = 1',
    ],
    names: { i: 2 },
  },
  choose: {
    body: [
      { kind: 'set', name: 'm', value: 0 },
      {
        kind: 'choose',
        when: { dim: subDim(i, 1), relation: '=' },
        consequent: [{ kind: 'assign', name: 'm', value: 1 }],
        alternate: [{ kind: 'assign', name: 'm', value: 2 }],
      },
      {
        kind: 'choose',
        when: { dim: subDim(i, 2), relation: '>=' },
        consequent: [step],
        alternate: [],
      },
    ],
    text: [
      'set m = 0',
      'if i - 1 = 0',
      '  m = 1',
      'else',
      '  m = 2',
      'if i - 2 >= 0',
      '  i = i + 1',
    ],
    names: { m: 1 },
  }, // prettier-ignore
  allocate: {
    body: [
      { kind: 'allocate', stacks: [{ of: made, row: [2] }, { of: other, row: [] }], rows: n },
      { kind: 'clear', at: elements(made, [6]) },
      { kind: 'clear', at: elements(other, [1]) },
      { kind: 'copy', to: elements(other, [2], 1), from: elements(floats, [2], 1) },
    ],
    text: ['allocate %3 float32[2], %4 float32[], n rows', 'clear %3[6]', 'clear %4[1]', 'copy %4[2] from 1 = %0[2] from 1'],
    arrays: new Map([[made, [0, 0, 0, 0, 0, 0]], [other, [0, 1.5, 2.5]]]),
  }, // prettier-ignore
  grow: {
    body: [
      { kind: 'set', name: 'rows', value: 2 },
      { kind: 'allocate', stacks: [{ of: made, row: [2] }], rows: symbol('rows') },
      { kind: 'copy', to: elements(made, [4]), from: elements(floats, [4]) },
      { kind: 'grow', stacks: [{ of: made, row: [2] }], rows: 'rows', needed: n, to: n, kept: i },
      { kind: 'copy', to: elements(made, [4], 2), from: elements(floats, [4]) },
    ],
    text: [
      'set rows = 2',
      'allocate %3 float32[2], rows rows',
      'copy %3[4] = %0[4]',
      'grow %3 float32[2], if n > rows: rows = n rows, keep i',
      'copy %3[4] from 2 = %0[4]',
    ],
    names: { rows: 3 },
    arrays: new Map([[made, [0.5, 1.5, 0.5, 1.5, 2.5, 3.5]]]),
  },
  trim: {
    body: [{ kind: 'trim', stacks: [{ of: floats, row: [2] }], rows: i }],
    text: ['trim %0 float32[2], i rows'],
    arrays: new Map([[floats, [0.5, 1.5]]]),
  },
  copy: {
    body: [{ kind: 'copy', to: elements(floats, [2]), from: elements(floats, [2], 2) }],
    text: ['copy %0[2] = %0[2] from 2'],
    arrays: new Map([[floats, [2.5, 3.5, 2.5, 3.5]]]),
  },
  clear: {
    body: [{ kind: 'clear', at: elements(floats, [subDim(n, i)], i) }],
    text: ['clear %0[-i + n] from i'],
    arrays: new Map([[floats, [0.5, 0, 0, 3.5]]]),
  },
  check: {
    body: [
      { kind: 'check', call, types: [vector, { dtype: 'int32', shape: [n] }], elements: elements(ints, [n]) }, // prettier-ignore
    ],
    text: ['check %1[n] for take  // model.ts:3:7'],
    error: {
      name: 'ArgumentError',
      message: /^take: in captured code: index 4 is outside the axis\n[^]*model\.ts:3:7$/,
    },
  },
  run: {
    body: [{ kind: 'run', part, reads: [elements(floats, [2], i)], sizes: [], gives: [made] }],
    text: ['run island 0(%0[2] from i) -> %3 float32'],
    arrays: new Map([[made, [3, 5]]]),
  },
  call: {
    body: [
      {
        kind: 'call',
        callee: { program: doubled, kind: 'region', isOptional: false },
        operands: [elements(floats, [2])],
        sizes: [],
        results: [{ kind: 'into', to: elements(floats, [2], 2) }],
        site: { where: words`iteration ${i}`, call },
      },
      {
        kind: 'call',
        callee: { program: doubled, kind: 'region', isOptional: false },
        operands: [elements(floats, [2], 2)],
        sizes: [],
        results: [{ kind: 'own', as: made, extents: ['extent'] }],
        site: { where: ['first branch'], call },
      },
    ],
    text: [
      'call region 0(%0[2]) -> %0[2] from 2, take: iteration i  // model.ts:3:7',
      'call region 0(%0[2] from 2) -> %3 float32[extent], take: first branch  // model.ts:3:7',
    ],
    names: { extent: 2 },
    arrays: new Map([[floats, [0.5, 1.5, 1, 3]], [made, [2, 6]]]),
  }, // prettier-ignore
  drop: {
    body: [
      { kind: 'drop', handles: [floats, bits] },
      { kind: 'copy', to: elements(ints, [1]), from: elements(floats, [1]) },
    ],
    text: ['drop %0, %2', 'copy %1[1] = %0[1]'],
    error: { name: 'InternalError', message: /an array is read that is not there/ },
  },
};
