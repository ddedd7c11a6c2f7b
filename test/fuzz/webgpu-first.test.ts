import { fuzzGpu } from './gpu.js';

// Random programs give the same on a GPU: the first part of them.
await fuzzGpu(0);
