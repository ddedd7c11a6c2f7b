import type { HookFnMap, UnpluginBuildContext } from 'unplugin';
import { convert } from '../source/transform.js';
import type { ForeignSourceMap } from '../source/maps/source-map.js';

/** Method of Rollup and its relatives: the map of all that has happened to the module so far. */
interface CombinedMap {
  getCombinedSourcemap(): ForeignSourceMap;
}

/**
 * The transformation of a module for a bundler. Each puts the map it is given after those of earlier steps;
 * only places in messages have to be traced through these here.
 */
export function transformFor(framework: string): HookFnMap['transform'] {
  // These take a file without imports and exports for one of CommonJS, the others for a module.
  const hasCommonJs = ['webpack', 'rspack', 'esbuild'].includes(framework);
  return function (code, id) {
    const filename = id.replace(/\?.*$/s, '');
    const inputMap = inputMapOf(this);
    return convert(code, {
      filename,
      ...(hasCommonJs && { sourceType: 'unambiguous' }),
      ...(inputMap && { inputMap }),
    });
  };
}

function inputMapOf(context: UnpluginBuildContext): ForeignSourceMap | undefined {
  const native = context.getNativeBuildContext?.();
  if (native?.framework === 'webpack' || native?.framework === 'rspack') {
    // Loaders hand on maps as text or as objects.
    const given = native.inputSourceMap as string | ForeignSourceMap | null | undefined;
    return typeof given === 'string'
      ? (JSON.parse(given) as ForeignSourceMap)
      : (given ?? undefined);
  }
  if (!('getCombinedSourcemap' in context)) return undefined;
  return (context as unknown as CombinedMap).getCombinedSourcemap();
}
