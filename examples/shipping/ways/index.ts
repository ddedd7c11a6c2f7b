import { compiledC } from './c.js';
import { moduleInNode } from './module.js';
import { onnxruntimeInNode, ownImporter } from './onnx.js';
import type { Way } from './way.js';

export type { Way } from './way.js';
export { compiledC, moduleInNode, onnxruntimeInNode, ownImporter };

/** All ways that Node itself knows. */
export const ways: readonly Way[] = [moduleInNode, compiledC, ownImporter, onnxruntimeInNode];
