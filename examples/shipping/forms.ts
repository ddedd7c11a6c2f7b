import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toC, toModule } from '../../src/artifact/index.js';
import { toOnnx } from '../../src/onnx.js';
import type { Shipped } from './shipped.js';

/** The forms in which a graph leaves Kaon; in `plain` ONNX states have no defaults. */
export type Form = 'onnx' | 'plain onnx' | 'module' | 'c';

/** Writes a model into a folder; returns the names of its files. */
export function write(form: Form, { graph, train }: Shipped, folder: string): readonly string[] {
  const files: Readonly<Record<string, string | Uint8Array>> = contents(form, graph, train);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return Object.keys(files);
}

function contents(
  form: Form,
  graph: Shipped['graph'],
  train: boolean,
): Readonly<Record<string, string | Uint8Array>> {
  switch (form) {
    case 'onnx':
      return { 'model.onnx': toOnnx(graph) };
    case 'plain onnx':
      return { 'model.onnx': toOnnx(graph, { states: 'inputs' }) };
    case 'module':
      return { 'model.mjs': toModule(graph, { train }) };
    case 'c': {
      const { source, header } = toC(graph, { name: 'model', train });
      return { 'model.c': source, 'model.h': header };
    }
  }
}
