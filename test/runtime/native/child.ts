/*
 * A process of its own for tests, with the work named by its first argument. It prints what it has found
 * out as JSON.
 */
import { nodeModules } from '../../../src/base/node.js';
import * as kn from '../../../src/index.js';
import { Job, sleep } from '../../../src/runtime/native/job.js';

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
  // Takes all that is left of a disk, without the event loop.
  case 'fill': {
    const script = 'cat /dev/zero >zeros 2>/dev/null; echo "error: nothing fits" >&2; exit 3';
    const folder = process.env['KAON_CACHE']!;
    const job = new Job({ node: nodeModules()!, env: process.env, folder, script, args: [], limitMilliseconds: 20_000 }); // prettier-ignore
    let result = job.poll();
    for (; result === null; result = job.poll()) sleep(1);
    const { code, stderr } = result;
    console.log(JSON.stringify({ code, stderr: stderr.trim() })); // oxlint-disable-line no-console -- the answer
    break;
  }
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
