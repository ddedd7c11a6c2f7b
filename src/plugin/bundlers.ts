import type * as unplugin from 'unplugin';
import { optionalPackage } from '../base/optional.js';
import { transformFor } from './convert-module.js';

/*
 * Functions with the directive `'use graph'` are converted while a bundler builds. The types of the plugins
 * are the part of each bundler's own type that it asks for, so that Kaon's types need none of them.
 */

/** A plugin of Rollup, Rolldown and Vite. */
export interface RollupLikePlugin {
  readonly name: string;
}

/** A plugin of esbuild. */
export interface EsbuildPlugin {
  readonly name: string;
  setup(build: unknown): void | Promise<void>;
}

/** A plugin of webpack and Rspack. */
export interface WebpackLikePlugin {
  apply(compiler: unknown): void;
}

/** Files that may have the directive, whatever follows their name after a question mark. */
const filter = { id: /\.[cm]?[jt]sx?(?:\?|$)/, code: /use graph/ };

const factory: unplugin.UnpluginFactory<undefined> = (_options, { framework }) => ({
  name: 'kaon',
  // Before types are removed and modules are rewritten: the code is as it was written.
  enforce: 'pre',
  transform: { filter, handler: transformFor(framework) },
  esbuild: { onLoadFilter: filter.id },
  vite: {
    // Converted code imports it, which a search through the sources does not find.
    config: () => ({ optimizeDeps: { include: ['kaon/converted'] } }),
  },
});

/** @throws UnsupportedError where unplugin is not installed. */
function plugins(): unplugin.UnpluginInstance<undefined> {
  return optionalPackage<typeof unplugin>('unplugin', 'kaon/plugin', '--save-dev ').createUnplugin(factory); // prettier-ignore
}

/** The plugin for Vite. */
export function vite(): RollupLikePlugin {
  return plugins().vite() as RollupLikePlugin;
}

/** The plugin for Rollup. */
export function rollup(): RollupLikePlugin {
  return plugins().rollup() as RollupLikePlugin;
}

/** The plugin for Rolldown. */
export function rolldown(): RollupLikePlugin {
  return plugins().rolldown() as RollupLikePlugin;
}

/** The plugin for esbuild. */
export function esbuild(): EsbuildPlugin {
  return plugins().esbuild() as EsbuildPlugin;
}

/** The plugin for webpack. */
export function webpack(): WebpackLikePlugin {
  return plugins().webpack() as WebpackLikePlugin;
}

/** The plugin for Rspack. */
export function rspack(): WebpackLikePlugin {
  return plugins().rspack() as WebpackLikePlugin;
}
