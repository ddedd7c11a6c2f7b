import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

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

/** Flags with which Chromium has WebGPU on any machine, by a software driver of its own. */
export const webgpuFlags: readonly string[] = [
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
];

/** Opens a page in a browser without windows until it has answered. */
export async function browse<R>(
  browser: string,
  url: string,
  done: Promise<R>,
  wanted: readonly string[] = [],
): Promise<R> {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-profile-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    `--user-data-dir=${folder}`,
    ...wanted,
  ];
  // A page that never answers must not outlive its test.
  const child = spawn(browser, [...flags, url], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 280_000,
  });
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
    await removeProfile(folder);
  }
}

/** Removes the folder of a browser that has ended, whose helpers may still be writing. */
async function removeProfile(folder: string): Promise<void> {
  for (let tries = 20; ; tries--) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (tries === 0) throw error;
      await setTimeout(100);
    }
  }
}

/** A file that a page loads. */
export interface ServedFile {
  readonly type: string;
  readonly body: string | Buffer;
}

/** Headers of pages that may share memory with their workers. */
export const isolation: Readonly<Record<string, string>> = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

/** The body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

/** JSON that somebody posts, and what receives such a request. */
export function posted<R>(): {
  readonly answer: Promise<R>;
  readonly receive: (request: IncomingMessage, response: ServerResponse) => void;
} {
  let settle: (answer: R) => void;
  const answer = new Promise<R>((resolve) => (settle = resolve));
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    void bodyOf(request).then((body) => {
      response.end();
      settle(JSON.parse(body) as R);
    });
  };
  return { answer, receive };
}

/** JSON that a page answers: it posts it to `/done`. Its address is `start`, and files come from `fileAt`. */
export async function answerOfPage<R>(
  browser: string,
  start: string,
  fileAt: (path: string) => ServedFile | undefined,
  options: { readonly flags?: readonly string[]; readonly headers?: typeof isolation } = {},
): Promise<R> {
  const { answer, receive } = posted<R>();
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://page').pathname;
    if (path === '/done') return receive(request, response);
    const file = fileAt(path);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': file.type, ...options.headers }).end(file.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return await browse(browser, `http://127.0.0.1:${port}${start}`, answer, options.flags);
  } finally {
    server.close();
  }
}
