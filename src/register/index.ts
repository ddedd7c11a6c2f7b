import type { load as convert } from './hooks.js';

/*
 * `node --import kaon/register main.js`: converts functions with the directive `'use graph'`, whose errors then
 * name lines of the code as it was written. Node applies source maps to what it loads from now on, so nothing
 * of Kaon is imported before.
 */
process.setSourceMapsEnabled(true);

const hooks = await import('./hooks.js');

/** Hook of Node 20's loader. */
export const load: typeof convert = hooks.load;
