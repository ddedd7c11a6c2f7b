import type { HostArray } from '../../../base/dtype.js';
import type { BufferBackend, BufferRead } from '../../memory/backend.js';

/** Work that may have to wait: it yields promises, and is given what they answer. */
export type Waiting<T> = Generator<Promise<unknown>, T, unknown>;

/** The answer of a promise. */
export function* waited<T>(promise: Promise<T>): Waiting<T> {
  return (yield promise) as T; // work is given what the promise that it yields answers
}

/** An answer that may have to be waited for. */
export function* answered<T>(answer: T | Promise<T>): Waiting<T> {
  return answer instanceof Promise ? yield* waited(answer) : answer;
}

/** Work that ends with an error where a check fails behind an answer. */
export function* guarded<T>(work: Waiting<T>, check: () => void): Waiting<T> {
  let step = work.next();
  while (step.done !== true) {
    let answer: unknown;
    try {
      answer = yield step.value;
      check();
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(answer);
  }
  return step.value;
}

/** Does work whose first step has been taken, as its promises answer. */
export async function runToEnd<T>(
  work: Waiting<T>,
  first: IteratorResult<Promise<unknown>, T>,
): Promise<T> {
  let step = first;
  while (step.done !== true) {
    const answer = await step.value.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    step = 'error' in answer ? work.throw(answer.error) : work.next(answer.value);
  }
  return step.value;
}

/** Elements of several buffers, read together where the device can. */
export function readAll(
  backend: BufferBackend,
  reads: readonly BufferRead[],
): readonly HostArray[] | Promise<readonly HostArray[]> {
  if (reads.length === 0) return [];
  if (backend.readAll !== undefined) return backend.readAll(reads);
  const answers = reads.map(({ buffer, part }) => backend.read(buffer, part));
  const isLater = answers.some((answer) => answer instanceof Promise);
  return isLater ? Promise.all(answers) : (answers as HostArray[]); // none of them is a promise
}
