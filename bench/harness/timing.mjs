import { clock } from './clock.mjs';

/** A clock that is read more rarely than this, in milliseconds, costs nothing worth mentioning. */
const clockInterval = 0.5;

/** Runs for some time and returns milliseconds a run. Short runs are repeated between looks at the clock. */
export async function timeRound(run, milliseconds) {
  let runs = 0;
  let batch = 1;
  let elapsed = 0;
  const start = clock();
  do {
    for (let i = 0; i < batch; i++) {
      const pending = run();
      if (pending instanceof Promise) await pending;
    }
    runs += batch;
    const now = clock() - start;
    if (now - elapsed < clockInterval) batch *= 2;
    elapsed = now;
  } while (elapsed < milliseconds);
  return elapsed / runs;
}
