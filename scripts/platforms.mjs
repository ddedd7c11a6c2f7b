// node scripts/platforms.mjs [NAME ...]
// Runs the contract tests against the packed package on other runtimes: node20, node24, node26, deno, bun and
// chromium, or those that are named. What cannot be installed here is left out, and a line says so.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { compile, install, root, run } from './setup.mjs';

const folder = `${root}.build/platforms`;
const project = `${folder}/project`;

/** A program that installs come with, at a path below `platforms/node_modules`; null where there is none. */
function installed(pattern) {
  const [scope, file] = pattern;
  const base = `${root}platforms/node_modules/${scope}`;
  for (const name of readdirSync(base, { withFileTypes: true })) {
    const path = join(base, name.name, file);
    if (spawnSync(path, ['--version']).status === 0) return path;
  }
  return null;
}

const node = (version) => () => ['npm', 'exec', '--yes', `--package=node@${version}`, '--', 'node'];
const browsers = [
  process.env.KAON_BROWSER,
  'chromium',
  'chromium-browser',
  'google-chrome',
  'chrome',
];

/** The command that runs a module; null where the platform is not to be had. */
const platforms = {
  node20: node(20),
  node24: node(24),
  node26: node(26),
  deno: () => {
    const deno = installed(['@deno', 'deno']);
    return deno === null ? null : [deno, 'run', '--no-prompt', '--allow-read', '--allow-write', '--allow-sys', '--allow-env=TMPDIR,TMP,TEMP']; // prettier-ignore
  },
  bun: () => {
    const bun = installed(['@oven', 'bin/bun']);
    return bun === null ? null : [bun, 'run'];
  },
  chromium: () => {
    const found = browsers.find((name) => name && spawnSync(name, ['--version']).status === 0);
    return found === undefined ? null : [found];
  },
};

/** Packs the package as publishing would, and installs it in a project of its own. */
function pack() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(project, { recursive: true });
  run(process.execPath, ['scripts/bundle.mjs']);
  const npm = (cwd, ...args) => {
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' });
    if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const [{ filename }] = JSON.parse(npm(root, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder)); // prettier-ignore
  writeFileSync(`${project}/package.json`, '{ "private": true, "type": "module" }\n');
  npm(
    project,
    'install',
    `../${filename}`,
    '--offline',
    '--no-audit',
    '--no-fund',
    '--omit=optional',
  );
}

/** What the tests import of the tree, and what of the package takes its place; the rest is bundled with them. */
const entries = new Map([['dist/src/index.js', 'kaon']]);

/** The contract tests as modules of a folder; `main.js` there runs them all and tells what came of them, as JSON. */
async function bundleTests(to, isBrowser) {
  const tests = readdirSync(`${root}dist/test/contract`).filter((name) =>
    name.endsWith('.test.js'),
  );
  const main = `${folder}/main.mjs`;
  writeFileSync(
    main,
    [
      `import { finish } from ${JSON.stringify(`${root}platforms/test-runner.mjs`)};`,
      ...tests.map((name) => `import ${JSON.stringify(`${root}dist/test/contract/${name}`)};`),
      isBrowser
        ? `await fetch('/result', { method: 'POST', body: JSON.stringify(await finish()) });`
        : `console.log(JSON.stringify(await finish()));`,
    ].join('\n'),
  );
  // Files keep their names, since tests look for these in the errors that they expect.
  const contract = /[\\/]dist[\\/](test[\\/]contract[\\/].*)\.js$/;
  const group = { test: contract, name: (id) => contract.exec(id)[1].replaceAll('\\', '/') };
  const files = new Set(['node:fs/promises', 'node:os', 'node:path', 'node:util']);
  const build = await rolldown({
    cwd: root,
    input: { main },
    platform: isBrowser ? 'browser' : 'neutral',
    transform: { define: { 'process.env.NODE_DEBUG': 'undefined' } },
    plugins: [
      {
        name: 'package-under-test',
        async resolveId(source, importer) {
          if (source === 'node:test') return `${root}platforms/test-runner.mjs`;
          if (isBrowser && source === 'node:assert/strict') {
            return `${root}platforms/assert-strict.mjs`;
          }
          if (isBrowser && files.has(source)) return `${root}platforms/no-files.mjs`;
          if (source.startsWith('node:')) return { id: source, external: true };
          if (!source.startsWith('.')) return null;
          const resolved = await this.resolve(source, importer, { skipSelf: true });
          const name = entries.get(resolved?.id.replaceAll('\\', '/').slice(root.length));
          if (name === undefined) return null;
          return { id: name, external: true };
        },
      },
    ],
    checks: { bundlerTimings: false },
  });
  await build.write({
    dir: to,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [group] },
  });
  await build.close();
}

/** Runs a command to its end; what it has printed, or why it failed. */
function outputOf([command, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: project,
      env: { ...process.env, KAON_TIER: 'wasm' },
    });
    const parts = { out: '', err: '' };
    child.stdout.on('data', (part) => (parts.out += part));
    child.stderr.on('data', (part) => (parts.err += part));
    child.on('error', (error) => resolve({ ...parts, code: String(error) }));
    child.on('close', (code) => resolve({ ...parts, code }));
  });
}

async function inHost(command) {
  const { out, err, code } = await outputOf([...command, 'host/main.js']);
  const last = out.trim().split('\n').at(-1) ?? '';
  if (code === 0 && last.startsWith('{')) return JSON.parse(last);
  throw new Error(`it ended with ${code}: ${err.slice(-2000)}${out.slice(-500)}`);
}

/** Serves the tests to a browser until it has sent its counts. */
async function inBrowser([browser]) {
  const modulesIn = (at) => readdirSync(`${project}/${at}`, { recursive: true }).filter((name) => name.endsWith('.js')).map((name) => `/${at}/${name.replaceAll('\\', '/')}`); // prettier-ignore
  const library = 'node_modules/kaon/dist/kaon';
  const served = new Set([...modulesIn('browser'), ...modulesIn(library)]);
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  const server = createServer((request, response) => {
    const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }; // prettier-ignore
    if (request.method === 'POST') {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', () => {
        response.writeHead(204, headers).end();
        answer(JSON.parse(body));
      });
    } else if (served.has(request.url)) {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/javascript' });
      response.end(readFileSync(`${project}${request.url}`));
    } else {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/html' });
      response.end(`<!doctype html><meta charset="utf-8">
        <script type="importmap">{ "imports": { "kaon": "/${library}/index.js" } }</script>
        <script type="module">
        addEventListener('error', (event) => fetch('/result', { method: 'POST', body: JSON.stringify({ passed: 0, failed: 1, skipped: 0, failures: [event.message], reasons: [] }) }));
        import('/browser/main.js').catch((error) => fetch('/result', { method: 'POST', body: JSON.stringify({ passed: 0, failed: 1, skipped: 0, failures: [String(error?.stack ?? error)], reasons: [] }) }));
      </script>`);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${folder}/profile`]; // prettier-ignore
  const child = spawn(browser, [...flags, `http://127.0.0.1:${server.address().port}/`], { stdio: 'ignore' }); // prettier-ignore
  const ended = new Promise((_, reject) => child.on('exit', (code) => reject(new Error(`it ended with ${code}`)))); // prettier-ignore
  ended.catch(() => undefined); // ended by us below
  try {
    return await Promise.race([answered, ended]);
  } finally {
    child.kill();
    server.close();
  }
}

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (Object.hasOwn(platforms, name)) continue;
  console.error(`there is no platform ${name}; there are ${Object.keys(platforms).join(', ')}`);
  process.exit(1);
}
install('platforms', '--ignore-scripts');
compile();
pack();
await bundleTests(`${project}/host`, false);
await bundleTests(`${project}/browser`, true);

let failed = 0;
const report = async (name) => {
  const command = platforms[name]();
  if (command === null) {
    console.log(`${name}: not here`);
    if (wanted.includes(name)) failed++;
    return;
  }
  try {
    const result = await (name === 'chromium' ? inBrowser(command) : inHost(command));
    for (const failure of result.failures.slice(0, 10)) console.log(`${name}: ${failure}\n`);
    for (const [reason, count] of result.reasons)
      console.log(`${name}: ${count} skipped, ${reason}`);
    console.log(
      `${name}: ${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`,
    );
    failed += result.failed;
  } catch (error) {
    failed++;
    console.log(`${name}: ${error.message}`);
  }
};
// Two at a time: each is one thread.
const queue = wanted.length === 0 ? Object.keys(platforms) : [...wanted];
const next = async () => {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) await report(name);
};
await Promise.all([next(), next()]);
process.exitCode = failed === 0 ? 0 : 1;
