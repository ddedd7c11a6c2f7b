import { checkOptions, flag } from '../../base/attributes/options.js';
import { checkGraph, type StaticGraph } from '../../front/graphs/static-graph.js';
import { reservedBytes } from '../../codegen/wasm/index.js';
import { wasmTarget } from '../../loop/language/target.js';
import { artifactOf } from '../artifact.js';
import { checkArtifact, feedsRule, type CheckedArray, type Feeds } from '../check.js';
import { type ModuleParts, modulePartsOf, moduleSource } from './writer.js';

export interface ToModuleOptions {
  /** Allow a graph that changes its own state: a training step, for example. Default false. */
  readonly train?: boolean;
  /** Inputs on which the module is compared with the graph before it is returned. */
  readonly check?: Feeds;
}

/**
 * A graph as the text of one ES module with its WebAssembly and weights inside. It runs in Node, Deno, Bun
 * and browsers, without this library: `run(feeds)` returns `{ data, shape, dtype }` by output name; types are
 * in its comments, which TypeScript reads.
 *
 * @throws ArgumentError for graphs that update state without `train`; UnsupportedError for values that cannot
 * leave this process; InternalError when a check fails.
 */
export function toModule(graph: StaticGraph, options: ToModuleOptions = {}): string {
  const op = 'toModule';
  checkGraph(op, graph);
  checkOptions<ToModuleOptions>(op, options, { train: flag, check: feedsRule });
  const { train = false, check } = options;
  const artifact = artifactOf(graph, { op, target: wasmTarget, base: reservedBytes, train });
  const parts = modulePartsOf(op, artifact);
  if (check !== undefined) checkArtifact(op, graph, check, (given) => openHere(parts).run(given));
  return moduleSource(parts, artifact);
}

/** Runs the module's own code in this process. */
function openHere({ body, wasm }: ModuleParts): { run(feeds: Given): Given } {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 32768 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), { env: { memory } });
  const make = new Function(
    'kernels',
    'memory',
    `'use strict';${body}; return open(kernels, memory);`,
  );
  return make(exports, memory) as { run(feeds: Given): Given };
}

type Given = Readonly<Record<string, CheckedArray>>;
