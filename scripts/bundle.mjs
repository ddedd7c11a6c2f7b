// node scripts/bundle.mjs [DIR] [COMPILED]
// Writes what the package ships into DIR (default dist/kaon): one file for each entry point and those they share, and
// in `types` the declarations of what users can reach, from the compiled sources in COMPILED (default dist/src).
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { parseSync } from 'rolldown/utils';
import { writeDeclarations } from './declarations.mjs';
import { root } from './setup.mjs';

/** The entry points of `exports` in package.json. */
const entries = {
  index: 'src/index.ts',
  artifact: 'src/artifact/index.ts',
  cli: 'src/cli/index.ts',
  converted: 'src/front/converted/index.ts',
  lint: 'src/lint/index.ts',
  onnx: 'src/onnx.ts',
  onnxruntime: 'src/onnxruntime.ts',
  plugin: 'src/plugin/index.ts',
  register: 'src/register/index.ts',
  scale: 'src/scale.ts',
  source: 'src/source/index.ts',
  stablehlo: 'src/stablehlo.ts',
};

/**
 * Entry points that wait for optional packages, by what waits for nothing: `require`, which cannot wait, gets it from a
 * file of CommonJS that requires the packages first. All else is shared.
 */
const required = {
  onnx: { exports: 'src/onnx/models.ts', packages: ['@bufbuild/protobuf'] },
  onnxruntime: {
    exports: 'src/onnxruntime/engine.ts',
    packages: ['@bufbuild/protobuf'],
    start: 'entry.registerOnnxruntime();',
  },
  plugin: { exports: 'src/plugin/bundlers.ts', packages: ['@babel/parser', 'unplugin'] },
  source: { exports: 'src/source/conversion.ts', packages: ['@babel/parser'] },
};

/** Where `require` finds a package, if not under its name. */
const wrapped = { '@bufbuild/protobuf': './required/protobuf.js' };

/** Files that only those of CommonJS name. */
const requiredFiles = {
  'required/optional': 'src/base/optional.ts',
  'required/protobuf': 'src/formats/onnx/proto/protobuf.ts',
  ...Object.fromEntries(
    Object.entries(required).map(([name, entry]) => [`required/${name}`, entry.exports]),
  ),
};

/** The file of CommonJS for an entry point. */
function commonJs(name) {
  const { packages, start } = required[name];
  const loads = packages.map((each) => `optional.requireOptional('${each}', () => require('${wrapped[each] ?? each}'));`); // prettier-ignore
  const lines = [
    "'use strict';",
    "const optional = require('./required/optional.js');",
    ...loads,
    `const entry = require('./required/${name}.js');`,
    ...(start === undefined ? [] : [start]),
    'module.exports = entry;',
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * A file of its own, under this name: Kaon tells its own frames on a stack from the user's by the folder
 * above it, whether that is the folder of the sources or that of the bundle.
 */
const errors = { name: 'base/errors', test: /[\\/]src[\\/]base[\\/]errors\.ts$/ };

/**
 * What entry points share with the main one, in two files: each costs as much to find and open as twenty kilobytes to
 * read. Converting source code needs only the small one.
 */
function sharedGroups() {
  let loaded = null;
  const group = (name, isConverting) => ({
    name: (id, context) => {
      loaded ??= {
        index: reachable(entries.index, context),
        plugin: reachable(entries.plugin, context),
      };
      return loaded.index.has(id) && loaded.plugin.has(id) === isConverting ? name : null;
    },
    minShareCount: 2,
  });
  return [group('common', true), group('library', false)];
}

/** Modules that an entry point loads at once. */
function reachable(entry, context) {
  const found = new Set([resolve(root, entry)]);
  for (const id of found) {
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) found.add(imported);
  }
  return found;
}

/** What operators declare for tests alone: ways to call them, and programs that a law applies to. */
const forTests = new Set(['samples', 'cases']);

/** Empties the lists that only tests read. Blanks take their place, so that source maps stay right. */
const withoutSamples = {
  name: 'without-samples',
  transform: {
    filter: { id: /[\\/]src[\\/]ops[\\/]/ },
    handler(code, id) {
      let shipped = code;
      walk(parseSync(id, code).program, ({ type, key, value }) => {
        if (type !== 'Property' || !forTests.has(key.name) || value.type !== 'ArrayExpression')
          return;
        const list = code.slice(value.start + 1, value.end - 1);
        shipped = `${shipped.slice(0, value.start + 1)}${list.replace(/./g, ' ')}${shipped.slice(value.end - 1)}`;
      });
      return { code: shipped, map: null };
    },
  },
};

function walk(node, visit) {
  if (Array.isArray(node)) for (const item of node) walk(item, visit);
  else if (typeof node?.type === 'string') {
    visit(node);
    for (const child of Object.values(node)) if (typeof child === 'object') walk(child, visit);
  }
}

/** The entry points that users import: not the command, nor what only converted code imports. */
const imported = Object.values(entries).filter(
  (entry) => entry !== entries.cli && entry !== entries.converted,
);

export async function bundle(to = 'dist/kaon', compiled = 'dist/src') {
  const build = await rolldown({
    cwd: root,
    input: { ...entries, ...requiredFiles },
    // Nothing but what ships is in the bundle: Node's modules, and libraries that only ONNX and the
    // conversion of source code need, are imported when they are needed.
    external: [
      /^node:/,
      /^@bufbuild\/protobuf/,
      /^@babel\/parser/,
      /^onnxruntime-web$/,
      /^unplugin$/,
      /^webgpu$/,
    ],
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    tsconfig: false,
    plugins: [withoutSamples],
    // How long a build takes says nothing of what it has built.
    checks: { bundlerTimings: false },
    onLog(level, log) {
      throw new Error(`${level}: ${log.message}`);
    },
  });
  await build.write({
    dir: to,
    format: 'esm',
    cleanDir: true,
    sourcemap: true,
    // The declarations have the documentation, and the source maps the sources.
    comments: { legal: true, annotation: true, jsdoc: false },
    entryFileNames: '[name].js',
    // What entry points share has names of its own, so that none is numbered.
    chunkFileNames: ({ name }) => (name === errors.name ? '[name].js' : 'shared/[name].js'),
    codeSplitting: { groups: [errors, ...sharedGroups()] },
    // Stacks show names of functions and lines, which are kept; other local names are a twentieth of the time to load.
    minify: {
      compress: false,
      mangle: { toplevel: false, keepNames: { function: true, class: true } },
      codegen: false,
    },
  });
  await build.close();
  for (const name of Object.keys(required)) writeFileSync(join(to, `${name}.cjs`), commonJs(name));
  writeDeclarations(
    imported.map((entry) => entry.replace(/^src\/(.*)\.ts$/, '$1.d.ts')),
    resolve(root, compiled),
    join(resolve(root, to), 'types'),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(...process.argv.slice(2));
