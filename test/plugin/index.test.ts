import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Plugin as EsbuildPlugin } from 'esbuild';
import type { Plugin as RolldownPlugin } from 'rolldown';
import type { Plugin as RollupPlugin } from 'rollup';
import type { PluginOption } from 'vite';
import type { WebpackPluginInstance } from 'webpack';
import * as kaon from '../../src/plugin/index.js';
import { installPackage, node, write } from '../support/package.js';

test('each plugin has the type that its bundler asks for', () => {
  const viteLike: PluginOption = kaon.vite();
  const rollupLike: RollupPlugin = kaon.rollup();
  const rolldownLike: RolldownPlugin = kaon.rolldown();
  const esbuildLike: EsbuildPlugin = kaon.esbuild();
  const webpackLike: WebpackPluginInstance = kaon.webpack();
  for (const { name } of [viteLike as RollupPlugin, rollupLike, rolldownLike, esbuildLike]) {
    assert.equal(name, 'kaon');
  }
  assert.equal(typeof webpackLike.apply, 'function');
  assert.equal(typeof kaon.rspack().apply, 'function');
});

test('the plugin names the packages that are not installed', () => {
  const installed = installPackage('plugin-alone');
  // The checkout around has them: one that cannot be imported hides it.
  const hide = (name: string): string => {
    const folder = `node_modules/${name}`;
    mkdirSync(join(installed.folder, folder), { recursive: true });
    write(installed, `${folder}/package.json`, JSON.stringify({ name, exports: {} }));
    return join(installed.folder, folder);
  };
  write(
    installed,
    'build.mjs',
    `import { rollup } from 'kaon/plugin';
try {
  const { transform } = rollup();
  transform.handler.call({}, "function f() { 'use graph'; }", 'main.js');
  console.log('built');
} catch (error) { console.log(error.code, error.advice); }
`,
  );
  const said = (): string => node(installed.folder, 'build.mjs').trim();
  const [unplugin, parser] = [hide('unplugin'), hide('@babel/parser')];
  assert.equal(said(), 'KAON_UNSUPPORTED install it beside kaon: npm install --save-dev unplugin');
  rmSync(unplugin, { recursive: true });
  assert.equal(
    said(),
    'KAON_UNSUPPORTED install it beside kaon: npm install --save-dev @babel/parser',
  );
  rmSync(parser, { recursive: true });
  assert.equal(said(), 'built');
});
