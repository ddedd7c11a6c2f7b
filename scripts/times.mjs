// Processor time of the processes that tests run in. As a preloaded module (`--import`) it notes that of a process, with
// all its threads and, on Linux, the processes that it started (compilers, browsers), when the process ends; it does
// nothing where `KAON_TIMES` names no file.
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { root } from './setup.mjs';

const file = process.env.KAON_TIMES;
if (file !== undefined && isMainThread && process.argv[1]?.endsWith('.test.js')) {
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const seconds = (userCPUTime + systemCPUTime) / 1e6 + childSeconds();
    appendFileSync(
      file,
      `${seconds.toFixed(2)} ${process.uptime().toFixed(2)} ${process.argv[1]}\n`,
    );
  });
}

/** Processor time of the processes that this one has waited for; 0 where the system does not tell. */
function childSeconds() {
  if (!existsSync('/proc/self/stat')) return 0;
  // The command in parentheses may hold spaces; cutime and cstime are fields 16 and 17, in hundredths (proc(5)).
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Begins a new list in `out`; returns the file for `KAON_TIMES`. */
export function beginTimes(out) {
  const list = `${root}${out}/times.txt`;
  rmSync(list, { force: true });
  return list;
}

/** The dearest processes of a list, and the sum of all. */
export function timesTable(list, most = 40) {
  if (!existsSync(list)) return 'no process has ended';
  const rows = readFileSync(list, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => /^(\S+) (\S+) (.*)$/.exec(line).slice(1))
    .map(([seconds, wall, path]) => ({
      seconds: Number(seconds),
      wall,
      path: path.replace(root, ''),
    }))
    .sort((a, b) => b.seconds - a.seconds);
  const sum = rows.reduce((all, { seconds }) => all + seconds, 0);
  const line = ({ seconds, wall, path }) =>
    `${seconds.toFixed(1).padStart(8)} ${wall.padStart(8)}  ${path}`;
  return [
    'processor s, seconds, process',
    ...rows.slice(0, most).map(line),
    `${sum.toFixed(0)} s in ${rows.length} processes`,
  ].join('\n');
}
