import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Finding } from './campaign.js';
import type { Order, Report } from './child.js';

/** Runs a campaign in processes of its own: a call that hangs or ends its process is a finding, too. */

const child = fileURLToPath(new URL('./child.js', import.meta.url));

/** A call takes milliseconds; on a machine with other work to do, a second or two. */
const longestCall = 12_000;

/** Makes the calls from one number to another, and tells of those that went wrong. */
export async function drive(
  order: Order,
  report: (finding: Finding) => void = () => undefined,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const note = (finding: Finding): void => {
    findings.push(finding);
    report(finding);
  };
  let from = order.from;
  while (from < order.to) {
    const { at, call, fault } = await runChild({ ...order, from }, note);
    if (fault === undefined) break;
    note({ number: at, call, fault });
    from = at + 1;
  }
  return findings;
}

/** One process; how far it came, and why no farther. */
function runChild(
  order: Order,
  note: (finding: Finding) => void,
): Promise<{ at: number; call: string; fault: string | undefined }> {
  return new Promise((resolve) => {
    const { env } = process;
    // What the test runner tells its children is not for this one.
    const { NODE_TEST_CONTEXT: _, ...rest } = env;
    const process_ = fork(child, {
      env: rest,
      execArgv: ['--enable-source-maps', '--max-old-space-size=2048'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    let at = order.from;
    let call = 'the start';
    let fault: string | undefined = 'the process ended';
    const watch = setInterval(() => {
      fault = `took more than ${longestCall / 1000} seconds`;
      process_.kill('SIGKILL');
    }, longestCall);
    process_.on('message', (report: Report) => {
      watch.refresh();
      if ('now' in report) ({ now: at, call } = report);
      else if ('finding' in report) note(report.finding);
      else fault = undefined;
    });
    process_.on('exit', () => {
      clearInterval(watch);
      resolve({ at, call, fault });
    });
    process_.send(order);
  });
}
