// The part of node:test that the contract tests use, for any runtime: tests one after the other, in order.
// `finish` runs what was registered and gives the counts.

/** Thrown by what a platform lacks; a test that meets it is skipped with this reason. */
export class NotHere extends Error {}

const registered = [];

export function test(name, options, fn) {
  registered.push({ name, fn: typeof options === 'function' ? options : fn });
  return Promise.resolve();
}

const befores = [];
const afters = [];
export const before = (fn) => void befores.push(fn);
export const after = (fn) => void afters.push(fn);
export default test;

export async function finish() {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const reasons = new Map();
  const failures = [];
  const run = async (path, fn) => {
    const endings = [];
    const context = {
      name: path,
      test: (name, options, inner) =>
        run(`${path} > ${name}`, typeof options === 'function' ? options : inner),
      after: (ending) => void endings.push(ending),
    };
    let error = null;
    try {
      await fn(context);
    } catch (thrown) {
      error = thrown;
    }
    for (const ending of endings) await ending();
    if (error === null) counts.passed++;
    else if (missing(error) !== null) {
      counts.skipped++;
      const reason = missing(error);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    } else {
      counts.failed++;
      failures.push(`${path}\n${error?.stack ?? error}`);
    }
  };
  for (const fn of befores) await run('before', fn);
  for (const { name, fn } of registered) await run(name, fn);
  for (const fn of afters) await run('after', fn);
  return { ...counts, failures, reasons: [...reasons] };
}

/** What the platform lacks, where an error or one of its causes says so; null for another failure. */
function missing(error) {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof NotHere) return at.message;
  return null;
}
