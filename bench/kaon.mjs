// The compiled library.
import { load } from './dist.mjs';

export const kn = await load('src/index.js');
