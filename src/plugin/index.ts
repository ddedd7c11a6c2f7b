import { importOptional } from '../base/optional.js';
import { loadParser } from '../source/syntax/parse.js';

await Promise.all([loadParser(), importOptional('unplugin', () => import('unplugin'))]);

export * from './bundlers.js';
