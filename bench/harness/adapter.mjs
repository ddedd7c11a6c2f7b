// Prints the GPU with its driver. A process of its own, since drivers are found by the environment that it starts in.
import { create } from 'webgpu';

const gpu = create([]); // named, since Node aborts when it is collected
const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
if (adapter === null) throw new Error('there is no adapter for WebGPU');
const { vendor, architecture, device, description } = adapter.info;
process.stdout.write([vendor, architecture, device, description].filter(Boolean).join(', '));
