import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { Program, Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { add, booleanMask, cond, foreach, greater, less, mul, sum, whileLoop } from '../../../src/ops/index.js'; // prettier-ignore
import { partition } from '../../../src/passes/host/partition.js';
import { routineOf } from '../../../src/passes/host/routine.js';
import { routineLines } from '../../../src/passes/host/text.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { program } from '../../runtime/dynamic/host.js';

const n = symbol('n');
const scalar: TensorType = { dtype: 'float32', shape: [] };
const four: TensorType = { dtype: 'float32', shape: [4] };
const matrix: TensorType = { dtype: 'float32', shape: [n, 4] };
const positive = (x: Value): Value => booleanMask(x, greater(x, 0));

const row = program([four, scalar], (x, s) => [mul(x, s), add(s, sum(x))]);
const selected = program([four], (x) => [positive(x)]);
const goesOn = program([scalar], (s) => [less(s, 10)]);
const next = program([scalar], (s) => [mul(s, 2), add(s, 1)]);
const nextSelected = program([scalar, four], (s, x) => [positive(mul(x, s)), add(s, 1)]);

/** Programs whose loops and branches all run on the host, and their routines. */
const cases: Readonly<Record<string, readonly [Program, string]>> = {
  'a size that the data decides is loaded, checked, and handed to the next island': [
    program([{ dtype: 'float32', shape: [n] }], (x) => [sum(positive(x))]),
    `inputs x0 = %0 float32
run island 0(%0[n]) -> %1 int64, %2 bool
load count_0 = %1[], at most n
require count_0 >= 0, else extents: a size is negative
require -count_0 + n >= 0, else extents: a size that the data decides is outside its bounds
drop %1
run island 1(%0[n], %2[n], count_0) -> %3 float32
drop %0, %2
return %3[]`,
  ],
  'rows and a state, from the last on, a count of them': [
    program([matrix, scalar, { dtype: 'int32', shape: [] }], (x, s, count) => [
      ...foreach<Value>(row, { data: [x], states: [s], captures: [], reverse: true, count }),
    ]),
    `inputs x0 = %0 float32, x1 = %1 float32, x2 = %2 int32
load rows = %2[]
require rows >= 0, else foreach: there are not so many rows
require n - rows >= 0, else foreach: there are not so many rows
allocate %3 float32[], 1 rows
copy %3[] = %1[]
set i = 0, at most n
allocate %4 float32[4], n rows
repeat
  leave when -i + rows = 0
  call region 0(%0[4] from -4*i + 4*rows - 4, %3[]) -> %4[4] from -4*i + 4*rows - 4, %3[], foreach: iteration i
  i = i + 1
clear %4[n - rows, 4] from 4*rows
drop %0, %1, %2
return %4[n, 4], %3[]`,
  ],
  'the first iteration decides the size of the rows': [
    program([matrix], (x) => [...foreach<Value>(selected, { data: [x], states: [], captures: [] })]),
    `inputs x0 = %0 float32
run island 0(%0[n, 4]) -> %1 int64
set i = 0, at most n
require n - 1 >= 0, else foreach: without an iteration: output 0 has a size that the data of each iteration decides
call region 0(%0[4], %1[1]) -> %2 float32[extent], foreach: iteration 0
allocate %3 float32[extent], n rows
copy %3[extent] = %2[extent]
drop %2
i = 1
repeat
  leave when -i + n = 0
  call region 0(%0[4] from 4*i, %1[1] from i) -> %4 float32[extent_2], foreach: iteration i
  require -extent + extent_2 = 0, else foreach: iteration i: output 0 changes its shape
  copy %3[extent] from extent*i = %4[extent_2]
  drop %4
  i = i + 1
set count_0 = extent, at most 4
drop %0, %1
return %3[n, count_0]`,
  ],
  'any number of rows in each iteration': [
    program([matrix], (x) => [
      ...foreach<Value>(selected, { data: [x], states: [], captures: [], joined: 1 }),
    ]),
    `inputs x0 = %0 float32
set i = 0, at most n
set room = 64, at most any
allocate %1 float32[], room rows
set joined = 0, at most any
repeat
  leave when -i + n = 0
  call region 0(%0[4] from 4*i) -> %2 float32[extent], foreach: iteration i
  grow %1 float32[], if extent + joined > room: room = max(2*room, extent + joined) rows, keep joined
  copy %1[extent] from joined = %2[extent]
  joined = extent + joined
  drop %2
  i = i + 1
trim %1 float32[], joined rows
set joined_0 = joined, at most any
drop %0
return %1[joined_0]`,
  ],
  'as many rows as iterations, compiled in chunks': [
    program([scalar], (s) => [
      ...whileLoop<Value>(goesOn, next, { states: [s], captures: [], limit: null, padded: false }),
    ]),
    `inputs x0 = %0 float32
allocate %1 int32[], 1 rows
allocate %2 float32[], 1 rows
copy %2[] = %0[]
set count = 0, at most any
set room = 64, at most any
allocate %3 float32[], room rows
set step = 64, at most any
repeat
  leave when step = 0
  call chunk 0(%2[], step) -> %3[step] from count, %2[], %4 int32[], whileLoop: from iteration count on
  load done = %4[]
  drop %4
  count = count + done
  leave when -done + step - 1 >= 0
  call region 0(%2[]) -> %5 bool[], whileLoop: iteration count
  load goes = %5[]
  drop %5
  leave when goes = 0
  step = min(2*step, 3355443)
  grow %3 float32[], if count + step > room: room = max(2*room, count + step) rows, keep count
trim %3 float32[], count rows
store %1[] = count
set rows_0 = count, at most any
drop %0
return %3[rows_0], %2[], %1[]`,
  ],
  'rows that are zero behind the last iteration': [
    program([scalar], (s) => [
      ...whileLoop<Value>(goesOn, next, { states: [s], captures: [], limit: 5, padded: true }),
    ]),
    `inputs x0 = %0 float32
allocate %1 int32[], 1 rows
allocate %2 float32[], 1 rows
copy %2[] = %0[]
set count = 0, at most 5
allocate %3 float32[], 5 rows
repeat
  leave when -count + 5 = 0
  call region 0(%2[]) -> %4 bool[], whileLoop: iteration count
  load goes = %4[]
  drop %4
  leave when goes = 0
  call region 1(%2[]) -> %3[] from count, %2[], whileLoop: iteration count
  count = count + 1
store %1[] = count
clear %3[-count + 5] from count
drop %0
return %3[5], %2[], %1[]`,
  ],
  'a limit, and rows that the first iteration decides': [
    program([scalar, four], (s, x) => [
      ...whileLoop<Value>(
        program([scalar, four], (t) => [less(t, 10)]),
        nextSelected,
        { states: [s], captures: [x], limit: 80, padded: false },
      ),
    ]),
    `inputs x0 = %0 float32, x1 = %1 float32
allocate %2 int32[], 1 rows
allocate %3 float32[], 1 rows
copy %3[] = %0[]
set count = 0, at most 80
set room = 64, at most 80
call region 0(%3[], %1[4]) -> %4 bool[], whileLoop: iteration count
load goes = %4[]
drop %4
require goes - 1 >= 0, else whileLoop: without an iteration: output 0 has a size that the data of each iteration decides
call region 1(%3[], %1[4]) -> %5 float32[extent], %3[], whileLoop: iteration 0
allocate %6 float32[extent], room rows
copy %6[extent] = %5[extent]
drop %5
count = count + 1
repeat
  leave when -count + 80 = 0
  call region 0(%3[], %1[4]) -> %7 bool[], whileLoop: iteration count
  load goes_2 = %7[]
  drop %7
  leave when goes_2 = 0
  grow %6 float32[extent], if count + 1 > room: room = max(count + 1, min(2*room, 80)) rows, keep count
  call region 1(%3[], %1[4]) -> %8 float32[extent_2], %3[], whileLoop: iteration count
  require -extent + extent_2 = 0, else whileLoop: iteration count: output 0 changes its shape
  copy %6[extent] from count*extent = %8[extent_2]
  drop %8
  count = count + 1
trim %6 float32[extent], count rows
store %2[] = count
set rows_0 = count, at most 80
set count_0 = extent, at most 4
drop %0, %1
return %6[rows_0, count_0], %3[], %2[]`,
  ],
  'a branch, one of whose sides decides a size': [
    program([{ dtype: 'bool', shape: [] }, four], (flag, x) => [
      ...cond<Value>(flag, selected, program([four], (y) => [mul(y, 2)]), [x]),
    ]),
    `inputs x0 = %0 bool, x1 = %1 float32
load flag = %0[]
if flag = 0
  call region 0(%1[4]) -> %2 float32[extent], cond: second branch
else
  call region 1(%1[4]) -> %2 float32[extent], cond: first branch
set size_0 = extent, at most 4
drop %0, %1
return %2[size_0]`,
  ],
}; // prettier-ignore

for (const [name, [whole, expected]] of Object.entries(cases)) {
  test(`${name}: the routine`, () => {
    const cut = partition(runPipeline(whole, passes), {
      runsOnHost: ({ regions }) => regions.length > 0,
    });
    assert.ok(cut !== null);
    const lines = routineLines(routineOf(cut)).map((line) => line.replace(/ {2}\/\/ .*/, ''));
    assert.equal(lines.join('\n'), expected);
  });
}
