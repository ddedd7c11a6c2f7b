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
    `inputs x0 = %1 float32
run island 0(%1[n]) -> %2 int64, %3 bool
load count_0 = %2[], at most n
require count_0 >= 0, else extents: a size is negative
require -count_0 + n >= 0, else extents: a size that the data decides is outside its bounds
drop %2
run island 1(%1[n], %3[n], %0[0, count_0]) -> %4 float32
drop %1, %3
return %4[]`,
  ],
  'rows and a state, from the last on, a count of them': [
    program([matrix, scalar, { dtype: 'int32', shape: [] }], (x, s, count) => [
      ...foreach<Value>(row, { data: [x], states: [s], captures: [], reverse: true, count }),
    ]),
    `inputs x0 = %1 float32, x1 = %2 float32, x2 = %3 int32
load rows = %3[]
require rows >= 0, else foreach: there are not so many rows
require n - rows >= 0, else foreach: there are not so many rows
allocate %4 float32[], 1 rows
copy %4[] = %2[]
set i = 0, at most n
allocate %5 float32[4], n rows
repeat
  leave when -i + rows = 0
  call region 0(%1[4] from -4*i + 4*rows - 4, %4[]) -> %5[4] from -4*i + 4*rows - 4, %4[], foreach: iteration i
  i = i + 1
clear %5[n - rows, 4] from 4*rows
drop %1, %2, %3
return %5[n, 4], %4[]`,
  ],
  'the first iteration decides the size of the rows': [
    program([matrix], (x) => [...foreach<Value>(selected, { data: [x], states: [], captures: [] })]),
    `inputs x0 = %1 float32
run island 0(%1[n, 4]) -> %2 int64
set i = 0, at most n
require n - 1 >= 0, else foreach: without an iteration: output 0 has a size that the data of each iteration decides
call region 0(%1[4], %2[1]) -> %3 float32[extent], foreach: iteration 0
allocate %4 float32[extent], n rows
copy %4[extent] = %3[extent]
drop %3
i = 1
repeat
  leave when -i + n = 0
  call region 0(%1[4] from 4*i, %2[1] from i) -> %5 float32[extent_2], foreach: iteration i
  require -extent + extent_2 = 0, else foreach: iteration i: output 0 changes its shape
  copy %4[extent] from extent*i = %5[extent_2]
  drop %5
  i = i + 1
set count_0 = extent, at most 4
drop %1, %2
return %4[n, count_0]`,
  ],
  'as many rows as iterations, compiled in chunks': [
    program([scalar], (s) => [
      ...whileLoop<Value>(goesOn, next, { states: [s], captures: [], limit: null, padded: false }),
    ]),
    `inputs x0 = %1 float32
allocate %2 int32[], 1 rows
allocate %3 float32[], 1 rows
copy %3[] = %1[]
set count = 0, at most any
set room = 64, at most any
allocate %4 float32[], room rows
set step = 64, at most any
repeat
  leave when step = 0
  call chunk 0(%3[], %0[0, step]) -> %4[step] from count, %3[], %5 int32[], whileLoop: from iteration count on
  load done = %5[]
  drop %5
  count = count + done
  leave when -done + step - 1 >= 0
  call region 0(%3[]) -> %6 bool[], whileLoop: iteration count
  load goes = %6[]
  drop %6
  leave when goes = 0
  step = min(2*step, 3355443)
  if count - room + step - 1 >= 0
    grow %4 float32[], room = max(2*room, count + step) rows, keep count
trim %4 float32[], count rows
store %2[] = count
set rows_0 = count, at most any
drop %1
return %4[rows_0], %3[], %2[]`,
  ],
  'rows that are zero behind the last iteration': [
    program([scalar], (s) => [
      ...whileLoop<Value>(goesOn, next, { states: [s], captures: [], limit: 5, padded: true }),
    ]),
    `inputs x0 = %1 float32
allocate %2 int32[], 1 rows
allocate %3 float32[], 1 rows
copy %3[] = %1[]
set count = 0, at most 5
allocate %4 float32[], 5 rows
repeat
  leave when -count + 5 = 0
  call region 0(%3[]) -> %5 bool[], whileLoop: iteration count
  load goes = %5[]
  drop %5
  leave when goes = 0
  call region 1(%3[]) -> %4[] from count, %3[], whileLoop: iteration count
  count = count + 1
store %2[] = count
clear %4[-count + 5] from count
drop %1
return %4[5], %3[], %2[]`,
  ],
  'a limit, and rows that the first iteration decides': [
    program([scalar, four], (s, x) => [
      ...whileLoop<Value>(
        program([scalar, four], (t) => [less(t, 10)]),
        nextSelected,
        { states: [s], captures: [x], limit: 80, padded: false },
      ),
    ]),
    `inputs x0 = %1 float32, x1 = %2 float32
allocate %3 int32[], 1 rows
allocate %4 float32[], 1 rows
copy %4[] = %1[]
set count = 0, at most 80
set room = 64, at most 80
call region 0(%4[], %2[4]) -> %5 bool[], whileLoop: iteration count
load goes = %5[]
drop %5
require goes - 1 >= 0, else whileLoop: without an iteration: output 0 has a size that the data of each iteration decides
call region 1(%4[], %2[4]) -> %6 float32[extent], %4[], whileLoop: iteration 0
allocate %7 float32[extent], room rows
copy %7[extent] = %6[extent]
drop %6
count = count + 1
repeat
  leave when -count + 80 = 0
  call region 0(%4[], %2[4]) -> %8 bool[], whileLoop: iteration count
  load goes_2 = %8[]
  drop %8
  leave when goes_2 = 0
  if count - room >= 0
    grow %7 float32[extent], room = max(count + 1, min(2*room, 80)) rows, keep count
  call region 1(%4[], %2[4]) -> %9 float32[extent_2], %4[], whileLoop: iteration count
  require -extent + extent_2 = 0, else whileLoop: iteration count: output 0 changes its shape
  copy %7[extent] from count*extent = %9[extent_2]
  drop %9
  count = count + 1
trim %7 float32[extent], count rows
store %3[] = count
set rows_0 = count, at most 80
set count_0 = extent, at most 4
drop %1, %2
return %7[rows_0, count_0], %4[], %3[]`,
  ],
  'a branch, one of whose sides decides a size': [
    program([{ dtype: 'bool', shape: [] }, four], (flag, x) => [
      ...cond<Value>(flag, selected, program([four], (y) => [mul(y, 2)]), [x]),
    ]),
    `inputs x0 = %1 bool, x1 = %2 float32
load flag = %1[]
if flag = 0
  call region 0(%2[4]) -> %3 float32[extent], cond: second branch
else
  call region 1(%2[4]) -> %3 float32[extent], cond: first branch
set size_0 = extent, at most 4
drop %1, %2
return %3[size_0]`,
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
