import { vectorAlignment, type BindingPattern, type Shader, type ShaderFeatures, type ShaderParameter } from '../../codegen/wgsl/shader.js'; // prettier-ignore
import { InternalError } from '../../base/errors.js';
import type { ElementKind, Kernel } from '../../loop/language/nodes.js';
import type { LaunchArgument } from '../device/backend.js';
import { conditionalGroups } from '../device/conditions.js';
import { GpuBuffer } from './buffers.js';

/** Prints a kernel as a shader. */
export type ShaderPrinter = (
  kernel: Kernel,
  pattern: BindingPattern,
  features: ShaderFeatures,
) => Shader;

/** The most bytes of private memory of one dispatch: fewer workgroups share the work beyond. */
const mostPrivateBytes = 2 ** 25;

const bytesOfKind: Readonly<Record<ElementKind, number>> = {
  f32: 4, f64: 8, i32: 4, i64: 8, i8: 1, u8: 1, u16: 2,
}; // prettier-ignore

/** The memory that each member has for itself. */
type PrivateMemory = Extract<LaunchArgument, { readonly privateBytes: number }>;

/** A launch in numbers, once the memory of its private buffers is known. */
export interface EncodedLaunch {
  readonly groups: number;
  /** Place of this number of workgroups in the condition, in bytes; 0 where there is no condition. */
  readonly conditionOffset: number;
  readonly uniforms: Uint32Array;
  /** By binding; a number of bytes where the device is to find memory for the length of the launch. */
  readonly bindings: readonly (GpuBuffer | number)[];
}

/** Buffers of a launch's arguments, and the numbers of their memory in the order of its first appearance. */
export function bindingPattern(args: readonly LaunchArgument[]): {
  readonly given: readonly GpuBuffer[];
  readonly pattern: BindingPattern;
} {
  const given: GpuBuffer[] = [];
  const memories: number[] = [];
  const numbers: number[] = [];
  let isAligned = true;
  for (const arg of args) {
    if (typeof arg === 'number' || !('buffer' in arg)) continue;
    const { buffer, offset } = arg;
    if (!(buffer instanceof GpuBuffer) || buffer.id < 0) {
      throw new InternalError('this is no buffer of the GPU, or it has been freed');
    }
    given.push(buffer);
    let number = memories.indexOf(buffer.id);
    if (number < 0) number = memories.push(buffer.id) - 1;
    numbers.push(number);
    isAligned &&= (buffer.base + offset) % vectorAlignment === 0;
  }
  return { given, pattern: { memories: numbers, isAligned } };
}

/** Uniforms, bindings and number of workgroups for the arguments of a launch, which may have a condition. */
export function encodeLaunch(
  shader: Shader,
  args: readonly LaunchArgument[],
  { maxWorkgroupsPerDimension }: ShaderFeatures,
  isConditional: boolean,
): EncodedLaunch {
  const { parameters, workgroupSize } = shader;
  const numbers = args.map((arg) => (typeof arg === 'number' ? arg : undefined));
  /** Bytes of private memory for each member. */
  const privateBytes = parameters.reduce(
    (sum, { kind }, k) =>
      kind === 'private' ? sum + (args[k] as PrivateMemory).privateBytes : sum,
    0,
  );
  const most = Math.min(
    maxWorkgroupsPerDimension,
    Math.max(Math.floor(mostPrivateBytes / (privateBytes * workgroupSize)), 1),
  );
  const wanted = shader.workgroups(numbers, most);
  const { groups, offset: conditionOffset } = isConditional
    ? conditionalGroups(wanted, most)
    : { groups: wanted, offset: 0 };
  const uniforms = new Uint32Array(shader.uniformWords);
  const floats = new Float32Array(uniforms.buffer);
  const bindings: (GpuBuffer | number)[] = shader.bindings.map(() => 0);
  parameters.forEach((parameter, k) => {
    const arg = args[k];
    if (parameter.kind === 'number') {
      storeNumber(uniforms, floats, parameter, arg as number); // by the kinds of parameters
      return;
    }
    if (parameter.kind === 'locals') return;
    const size = bytesOfKind[parameter.storage];
    if (parameter.kind === 'elements') {
      const { buffer, offset } = arg as { buffer: GpuBuffer; offset: number };
      bindings[parameter.binding] = buffer;
      uniforms[parameter.word] = (buffer.base + offset) / size;
    } else {
      const { privateBytes: bytes } = arg as PrivateMemory;
      const begin = bindings[parameter.binding] as number;
      const members = groups * workgroupSize;
      uniforms[parameter.word] = begin / size;
      uniforms[parameter.membersWord] = members;
      bindings[parameter.binding] = begin + Math.ceil(bytes / 16) * 16 * members;
    }
  });
  uniforms[shader.groupsWord] = groups;
  return { groups, conditionOffset, uniforms, bindings };
}

function storeNumber(
  uniforms: Uint32Array,
  floats: Float32Array,
  { scalar, word }: Extract<ShaderParameter, { kind: 'number' }>,
  value: number,
): void {
  if (scalar === 'f32') floats[word] = value;
  else if (scalar === 'i64') {
    const wide = BigInt.asUintN(64, BigInt(value));
    uniforms[word] = Number(wide & 0xffffffffn);
    uniforms[word + 1] = Number(wide >> 32n);
  } else if (scalar === 'f64') {
    const [low, high] = new Uint32Array(Float64Array.of(value).buffer);
    uniforms[word] = low;
    uniforms[word + 1] = high;
  } else uniforms[word] = Number(value);
}
