import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';

/** The browser that KAON_BROWSER names, which must be there, or one that is. */
export function findBrowser(): string | undefined {
  const wanted = process.env['KAON_BROWSER'];
  const isThere = (name: string): boolean => spawnSync(name, ['--version']).status === 0;
  if (wanted !== undefined) {
    assert.ok(isThere(wanted), `KAON_BROWSER: ${wanted} does not start`);
    return wanted;
  }
  return ['chromium', 'chromium-browser', 'google-chrome', 'chrome'].find(isThere);
}

/** Opens a page in a browser without windows, with flags beside the usual ones, until it has answered. */
export async function browse<R>(
  browser: string,
  url: string,
  folder: string,
  done: Promise<R>,
  more: readonly string[] = [],
): Promise<R> {
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    `--user-data-dir=${folder}`,
  ];
  const child = spawn(browser, [...flags, ...more, url], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said += part.toString()));
  const ended = new Promise<never>((_, reject) => {
    child.on('exit', (code) => reject(new Error(`${browser} ended with ${code}: ${said}`)));
  });
  const exited = new Promise((resolve) => child.on('exit', resolve));
  try {
    return await Promise.race([done, ended]);
  } finally {
    child.kill();
    ended.catch(() => undefined); // it was told to end
    await exited;
  }
}
