import { fuzzGpu } from './gpu.js';

// Random programs give the same on a GPU: the second part of them.
await fuzzGpu(1);
