import { testControl } from '../../support/control.js';
import { testGpus } from '../../support/webgpu.js';

/* Branches and loops on a GPU, which decides about them: no condition is read, in this thread or in a worker. */

await testGpus(testControl);
