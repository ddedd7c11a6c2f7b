import { testSizes } from '../../support/sizes.js';
import { testGpus } from '../../support/webgpu.js';

/* Sizes that the data decides on a GPU: they stay there, in this thread or in a worker. */

await testGpus((name, gpu) => testSizes(name, { ...gpu, hasInt64: true }));
