import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a script of this folder in a process that has run nothing before; gives the JSON that it prints. */
export async function coldRun(script, words, { dist, tier } = {}) {
  const env = { ...process.env };
  if (dist !== undefined) env.KAON_DIST = dist;
  if (tier !== undefined) env.KAON_TIER = tier;
  const path = fileURLToPath(new URL(script, import.meta.url));
  const { stdout } = await execute(process.execPath, [path, ...words.map(String)], { env });
  return JSON.parse(stdout);
}
