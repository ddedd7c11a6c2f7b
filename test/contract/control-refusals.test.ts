import * as kn from '../../src/index.js';
import { refusedInEveryForm } from './refusals.js';

/* What control flow refuses, in eager and captured code alike: one test for each message. */

const inputs = (): { xs: kn.NDArray; s: kn.NDArray } => ({
  xs: kn.array([[1, 2], [3, 4]]), // prettier-ignore
  s: kn.array([1, 2]),
});
type Given = ReturnType<typeof inputs>;

/** Calls that the types refuse as well: the errors are for those who write JavaScript. */
const loose = {
  foreach: kn.foreach as (...args: unknown[]) => unknown,
  whileLoop: kn.whileLoop as (...args: unknown[]) => unknown,
  cond: kn.cond as (...args: unknown[]) => unknown,
};

function refusesForeach(
  line: string,
  code: (given: Given) => unknown,
  kind: abstract new (...args: never[]) => kn.KaonError,
  says: string | RegExp,
): void {
  refusedInEveryForm(line, inputs, code, { kind, op: 'foreach', says });
}

refusesForeach(
  'a state that changes its shape',
  ({ xs, s }) => kn.foreach((x, h) => [x, kn.concat([h, x])], xs, s),
  kn.ShapeError,
  'iteration 0: the state changes its shape',
);
refusesForeach(
  'a state that changes its dtype',
  ({ xs, s }) => kn.foreach((x, { h }) => [x, { h: h.astype('float64') }], xs, { h: s }),
  kn.DTypeError,
  'iteration 0: state.h changes its dtype',
);
refusesForeach(
  'a state that changes its rank',
  ({ xs, s }) => kn.foreach((x, [h, g]) => [x, [h, g.sum()]], xs, [s, s]),
  kn.ShapeError,
  'iteration 0: state 1 changes its shape',
);
refusesForeach(
  'states that change their structure',
  ({ xs, s }) => loose.foreach((x: kn.NDArray) => [x, { a: [x] }], xs, { a: [s, s] }),
  kn.ArgumentError,
  'iteration 0: state.a changes its structure',
);
refusesForeach(
  'a state that is no array any more',
  ({ xs, s }) => loose.foreach((x: kn.NDArray) => [x, [3]], xs, [s]),
  kn.ArgumentError,
  /iteration 0: state 0 is not an array[^]*kn\.array/,
);
refusesForeach(
  'a first state that is no array',
  ({ xs, s }) => loose.foreach((x: kn.NDArray) => [s, x], xs, 0),
  kn.ArgumentError,
  /the state is not an array[^]*kn\.array/,
);
refusesForeach(
  'outputs that are no arrays',
  ({ xs, s }) => loose.foreach((x: kn.NDArray, h: kn.NDArray) => [{ y: [x, 1] }, h], xs, s),
  kn.ArgumentError,
  'iteration 0: output.y[1] is not an array',
);
refusesForeach(
  'an output that is nothing',
  ({ xs, s }) => loose.foreach((_: kn.NDArray, h: kn.NDArray) => [undefined, h], xs, s),
  kn.ArgumentError,
  /iteration 0: the output is not an array[^]*return nothing as \[\]/,
);
refusesForeach(
  'a body that does not return a pair',
  ({ xs, s }) => loose.foreach((x: kn.NDArray, h: kn.NDArray) => x.add(h), xs, s),
  kn.ArgumentError,
  'iteration 0: the body does not return a pair',
);
refusesForeach(
  'a body that is no function',
  ({ xs, s }) => loose.foreach(7, xs, s),
  kn.ArgumentError,
  'the body is not a function',
);
refusesForeach(
  'no data',
  ({ xs, s }) => kn.foreach((_, h) => [h.add(xs.sum()), h], [], s),
  kn.ShapeError,
  /there is nothing to iterate over[^]*kn\.arange/,
);
refusesForeach(
  'data without an axis',
  ({ xs, s }) => kn.foreach((x, h) => [x[0], h], [xs, xs.sum()], s),
  kn.ShapeError,
  'data 1 has no axis to iterate over',
);
refusesForeach(
  'data of different lengths',
  ({ xs, s }) => kn.foreach((x, h) => [x.a, h], { a: xs, b: kn.ones([3]) }, s),
  kn.ShapeError,
  'data.b has another length',
);
refusesForeach(
  'a way to save that there is not',
  ({ xs, s }) => loose.foreach((x: kn.NDArray, h: kn.NDArray) => [x, h], xs, s, { save: 'some' }),
  kn.ArgumentError,
  'save is not acceptable',
);
refusesForeach(
  'an option that there is not',
  ({ xs, s }) => loose.foreach((x: kn.NDArray, h: kn.NDArray) => [x, h], xs, s, { reversed: true }),
  kn.ArgumentError,
  'did you mean reverse',
);
refusesForeach(
  'a direction that is neither',
  ({ xs, s }) => loose.foreach((x: kn.NDArray, h: kn.NDArray) => [x, h], xs, s, { reverse: 1 }),
  kn.ArgumentError,
  'reverse is not acceptable',
);
refusesForeach(
  'an operator that refuses inside',
  ({ xs, s }) => kn.foreach((x, h) => [x.add(kn.ones([3])), h], xs, s),
  kn.ShapeError,
  'iteration 0: add: ',
);
refusesForeach(
  'an operator that refuses inside of a loop inside',
  ({ xs, s }) => kn.foreach((row, h) => [kn.foreach((x, g) => [x, g.matmul(g)], row, h), h], xs, s),
  kn.ShapeError,
  'iteration 0: iteration 0: ',
);

function refusesWhile(
  line: string,
  code: (given: Given) => unknown,
  kind: abstract new (...args: never[]) => kn.KaonError,
  says: string | RegExp,
): void {
  refusedInEveryForm(line, inputs, code, { kind, op: 'whileLoop', says });
}

refusesWhile(
  'a condition that is not bool',
  ({ s, xs }) =>
    kn.whileLoop(
      (v) => v.sum(),
      (v) => [v, v.add(xs.sum())],
      s,
    ),
  kn.DTypeError,
  'iteration 0: the condition is not a truth value',
);
refusesWhile(
  'a condition of several elements',
  ({ s, xs }) =>
    kn.whileLoop(
      (v) => v.less(3),
      (v) => [v, v.add(xs.sum())],
      s,
    ),
  kn.ShapeError,
  'iteration 0: the condition does not have exactly one element',
);
refusesWhile(
  'a condition that is no array',
  ({ s, xs }) => loose.whileLoop(() => true, (v: kn.NDArray) => [v, v.add(xs.sum())], s), // prettier-ignore
  kn.ArgumentError,
  'iteration 0: the condition is not an array',
);
refusesWhile(
  'a condition that is no function',
  ({ s, xs }) => loose.whileLoop(s.less(3), (v: kn.NDArray) => [v, v.add(xs.sum())], s),
  kn.ArgumentError,
  'the condition is not a function',
);
refusesWhile(
  'a loop variable that changes its shape',
  ({ s, xs }) =>
    kn.whileLoop(
      (v) => v.sum().less(10),
      (v, w) => [[], [v.mul(2), kn.concat([w, v])]],
      [s, xs.slice(0)],
    ),
  kn.ShapeError,
  'iteration 0: loop variable 1 changes its shape',
);
refusesWhile(
  'loop variables that change their structure',
  ({ s, xs }) =>
    loose.whileLoop(
      (v: kn.NDArray) => v.sum().less(10),
      (v: kn.NDArray, w: kn.NDArray) => [[], [[v.mul(2)], w]],
      [s, xs],
    ),
  kn.ArgumentError,
  'iteration 0: loop variable 0 changes its structure',
);
refusesWhile(
  'padded outputs without a limit',
  ({ s, xs }) =>
    kn.whileLoop(
      (v) => v.sum().less(10),
      (v) => [v, v.add(xs.sum())],
      s,
      { padded: true },
    ),
  kn.ArgumentError,
  'a padded loop has no limit',
);
refusesWhile(
  'an option of loops that there is not',
  ({ s, xs }) =>
    kn.whileLoop(
      (v) => v.sum().less(10),
      (v) => [v, v.add(xs.sum())],
      s,
      { max_iterations: 3 } as never,
    ),
  kn.ArgumentError,
  'did you mean maxIterations',
);
for (const maxIterations of [-1, 1.5, NaN]) {
  refusesWhile(
    `${maxIterations} iterations`,
    ({ s, xs }) =>
      kn.whileLoop(
        (v) => v.sum().less(10),
        (v) => [v, v.add(xs.sum())],
        s,
        { maxIterations },
      ),
    kn.ArgumentError,
    'maxIterations is not acceptable',
  );
}

function refusesCond(
  line: string,
  code: (given: Given) => unknown,
  kind: abstract new (...args: never[]) => kn.KaonError,
  says: string | RegExp,
): void {
  refusedInEveryForm(line, inputs, code, { kind, op: 'cond', says });
}

refusesCond(
  'a predicate that is not bool',
  ({ xs, s }) => kn.cond(xs.sum(), () => s, () => s), // prettier-ignore
  kn.DTypeError,
  'the predicate is not a truth value',
);
refusesCond(
  'a predicate of several elements',
  ({ xs, s }) => kn.cond(() => xs.greater(0), () => s, () => s), // prettier-ignore
  kn.ShapeError,
  'the predicate does not have exactly one element',
);
refusesCond(
  'a predicate that is no array',
  ({ xs, s }) => loose.cond(true, () => s, () => xs), // prettier-ignore
  kn.ArgumentError,
  'the predicate is not an array',
);
refusesCond(
  'a branch that is no function',
  ({ xs, s }) => loose.cond(xs.sum().greater(0), () => s, s), // prettier-ignore
  kn.ArgumentError,
  'the second branch is not a function',
);
refusesCond(
  'a branch that gives no array',
  ({ xs, s }) => loose.cond(xs.sum().greater(0), () => ({ y: [s, 'none'] }), () => s), // prettier-ignore
  kn.ArgumentError,
  'result.y[1] is not an array',
);
