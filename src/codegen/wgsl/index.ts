import { UnsupportedError } from '../../base/errors.js';
import type { Kernel } from '../../loop/language/nodes.js';
import { gridKernel } from './grid.js';
import { shaderText } from './kernel.js';
import { shaderLayout } from './layout.js';
import type { BindingPattern, Shader, ShaderFeatures } from './shader.js';
import { VectorAccesses } from './memory/vector-access.js';
import { stepCounter } from './workgroups.js';

/** Invocations of a workgroup of kernels that need no workgroup: what all GPUs run at once. */
const usualSize = 64;

/**
 * A kernel as a shader, for arguments that share buffers as `pattern` says. Each invocation does the steps of parallel
 * ranges that are its own; a kernel with neither ranges nor workgroups is run by one invocation.
 * @throws UnsupportedError for more buffers than a shader may use.
 */
export function shaderOf(
  kernel: Kernel,
  pattern: BindingPattern,
  { maxStorageBuffers, maxWorkgroupsPerDimension, maxWorkgroupInvocations }: ShaderFeatures,
): Shader {
  const grid = gridKernel(kernel);
  const accesses = new VectorAccesses(grid.kernel.body, grid.invocation, pattern.isAligned);
  const layout = shaderLayout(grid.kernel, pattern, accesses);
  if (layout.bindings.length > maxStorageBuffers) {
    throw new UnsupportedError('a kernel uses more buffers than the device lets a shader use', {
      op: kernel.name,
      expected: `at most ${maxStorageBuffers}`,
      actual: String(layout.bindings.length),
    });
  }
  const isDivided = grid.ranges.length > 0;
  const { workgroups } = grid;
  const usual = isDivided ? Math.min(usualSize, maxWorkgroupInvocations) : 1;
  const workgroupSize = workgroups?.statement.size ?? usual;
  if (workgroupSize > maxWorkgroupInvocations) {
    throw new UnsupportedError('a kernel has larger workgroups than the device', {
      op: kernel.name,
      expected: `at most ${maxWorkgroupInvocations} invocations`,
      actual: String(workgroupSize),
    });
  }
  const stepsOf =
    workgroups === null
      ? stepCounter(kernel, grid.ranges, workgroupSize)
      : stepCounter(kernel, [workgroups.statement.count], 1);
  const { parameters, bindings, uniformWords, zeroWord, groupsWord } = layout;
  return {
    text: shaderText(grid, layout, accesses, workgroupSize),
    parameters,
    bindings,
    uniformWords,
    zeroWord,
    groupsWord,
    workgroupSize,
    workgroups: (numbers, most) => {
      if (!isDivided && workgroups === null) return 1;
      const steps = stepsOf(numbers);
      const wanted = workgroups === null ? Math.ceil(steps / workgroupSize) : steps;
      return Math.max(1, Math.min(wanted, most, maxWorkgroupsPerDimension));
    },
  };
}
