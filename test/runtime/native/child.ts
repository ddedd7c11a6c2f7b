/*
 * A process of its own for tests, with the work named by its first argument. It prints what it has found
 * out as JSON.
 */
import * as kn from '../../../src/index.js';

const f = kn.hybridize((x: kn.NDArray) => kn.softmax(x.matmul(x.transpose())).sum(0), {
  tier: process.argv[2] === 'at once' ? 'native' : 'auto',
});
const x = kn.arange(60).reshape([6, 10]).mul(0.01);

function found(): void {
  const [{ tier, reason, note }] = f.explain().traces[0].tiers;
  console.log(JSON.stringify({ tier, reason, note, result: f(x).tolist() })); // oxlint-disable-line no-console -- the answer
}

const isOpen = (): boolean => f.explain().traces[0].tiers[0].reason === 'native code is being made';

switch (process.argv[2]) {
  // Waits for native code.
  case 'at once':
    f(x);
    found();
    break;
  // Ends as soon as a compiler has been started.
  case 'leave': {
    const end = performance.now() + 60_000;
    do f(x);
    while (!isOpen() && performance.now() < end);
    for (const soon = performance.now() + 500; performance.now() < soon;) f(x);
    found();
    break;
  }
  // Goes back to the event loop between runs.
  default: {
    const end = performance.now() + 60_000;
    const run = (): void => {
      for (let i = 0; i < 1000; i++) f(x);
      const [{ reason }] = f.explain().traces[0].tiers;
      const isDone = reason === null || !/made|has run/.test(reason);
      if (isDone || performance.now() > end) found();
      else setTimeout(run, 5);
    };
    run();
  }
}
