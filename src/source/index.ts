import { loadParser } from './syntax/parse.js';

await loadParser();

export * from './conversion.js';
