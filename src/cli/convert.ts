import { basename, dirname, extname, join } from 'node:path';
import { toC, toModule } from '../artifact/index.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import { printProgram } from '../ir/formats/text.js';
import { writeContent } from './graphs.js';
import { fileOf } from './run.js';
import type { Inputs } from './inputs.js';
import { UsageError } from './usage.js';

export interface ConvertOptions {
  /** Allow a graph that changes its own state. */
  readonly train: boolean;
  /** Write weights to a separate file. */
  readonly external: boolean;
  readonly opset: string | undefined;
  /** File for the values of states, when these are plain inputs. */
  readonly states: string | undefined;
}

/** Writes a graph, validated on inputs if there are some; returns the written files. */
export type Convert = (graph: StaticGraph, check?: Inputs) => Promise<readonly string[]>;

/**
 * The converter for the format of a file name.
 * @throws UsageError for unknown formats, and for options that the format does not have.
 */
export function converterFor(
  path: string,
  { train, external, opset, states }: ConvertOptions,
): Convert {
  const extension = extname(path);
  const name = basename(path, extension);
  const refuse = (option: string, isGiven: boolean): void => {
    if (isGiven) throw new UsageError(`--${option} does not apply to ${extension} files`);
  };
  const weightsPath = join(dirname(path), `${name}.weights`);
  if (extension !== '.onnx') {
    refuse('opset', opset !== undefined);
    refuse('states', states !== undefined);
  }
  if (extension !== '.onnx' && extension !== '.c') refuse('external', external);
  switch (extension) {
    case '.onnx': {
      const version = opset === undefined ? {} : { opset: wholeNumber('opset', opset) };
      if (states !== undefined && extname(states) !== '.safetensors') {
        throw new UsageError(`--states ${states}: values of states go to a .safetensors file`);
      }
      const plain = states === undefined ? {} : ({ states: 'inputs' } as const);
      return async (graph, check) => {
        // Loaded lazily: ONNX needs an optional package.
        const { statesOf, toOnnx } = await import('../onnx.js');
        const files: Record<string, Uint8Array> = {};
        const externalData = (_: string, bytes: Uint8Array): void => void (files[weightsPath] = bytes); // prettier-ignore
        const apart = external ? { externalData, dataFile: basename(weightsPath) } : {};
        files[path] = toOnnx(graph, { ...version, ...plain, ...apart, ...checked(check) });
        if (states !== undefined) files[states] = fileOf(statesOf(graph));
        return write(files);
      };
    }
    case '.mjs':
    case '.js':
      return (graph, check) => {
        checkState(graph, train);
        return write({ [path]: toModule(graph, { train, ...checked(check) }) });
      };
    case '.c': {
      if (!/^[A-Za-z]\w*$/.test(name)) {
        throw new UsageError(
          `${path}: function names begin with ${name}, which is not a C identifier; ${name.replaceAll(/\W/g, '_')}.c would do`,
        );
      }
      return (graph, check) => {
        checkState(graph, train);
        const place = external ? 'file' : 'source';
        const { source, header, weights } = toC(graph, { name, train, weights: place, ...checked(check) }); // prettier-ignore
        return write({
          [path]: source,
          [`${path.slice(0, -2)}.h`]: header,
          ...(weights !== null && { [weightsPath]: weights }),
        });
      };
    }
    case '.json':
    case '.txt': {
      refuse('train', train);
      return (graph, check) => {
        refuse('input', check !== undefined);
        return write({
          [path]: extension === '.json' ? JSON.stringify(graph.toJSON()) : printProgram(graph.program),
        }); // prettier-ignore
      };
    }
    default:
      throw new UsageError(`${path}: graphs are converted to .onnx, .mjs, .js, .c, .json and .txt`);
  }
}

/**
 * The writer for files that `readGraph` reads.
 * @throws UsageError for other formats.
 */
export function graphWriterFor(path: string): Convert {
  if (extname(path) !== '.json' && extname(path) !== '.onnx') {
    throw new UsageError(`--save ${path}: graphs are saved as .json and .onnx`);
  }
  return converterFor(path, { train: false, external: false, opset: undefined, states: undefined });
}

/** A check of its own, because the exporters' error mentions options of the API. */
function checkState({ parts }: StaticGraph, train: boolean): void {
  const count = parts.writes.length;
  if (train || count === 0) return;
  throw new UsageError(
    `the graph changes ${count} arrays of its own state at each run, as a training step does: --train allows that`,
  );
}

function checked(check: Inputs | undefined): { readonly check?: Inputs } {
  return check === undefined ? {} : { check };
}

function wholeNumber(option: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`--${option} ${text}: this is not a whole number`);
}

async function write(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<readonly string[]> {
  for (const [path, content] of Object.entries(files)) await writeContent(path, content);
  return Object.keys(files);
}
