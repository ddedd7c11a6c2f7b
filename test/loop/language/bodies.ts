import assert from 'node:assert/strict';
import { InternalError } from '../../../src/base/errors.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { verifyModule } from '../../../src/loop/language/verify.js';

/** A kernel whose body this is. */
const kernel = (body: string): string => `
  kernel other(o: f32[]) {
    o[0] = 1.0
  }
  kernel k(o: f32[], x: f32[], own: private f32[], meeting: i32[], n: i32, address: i32) {
    ${body}
  }
`;

/** Asserts that a kernel with this body is sound. */
export function accepts(body: string): void {
  verifyModule(parseModule(kernel(body)));
}

/** Asserts that a kernel with this body is refused. */
export function refuses(body: string, message: RegExp): void {
  assert.throws(
    () => accepts(body),
    (error: Error) => error instanceof InternalError && message.test(error.message),
    body,
  );
}
