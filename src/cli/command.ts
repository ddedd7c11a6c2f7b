import { parseArgs } from 'node:util';
import { KaonError } from '../base/errors.js';
import { convert } from './convert.js';
import { diffGraphs } from './diff.js';
import { readGraph } from './graphs.js';
import { inspect } from './inspect.js';
import { runGraph, writeOutputs } from './run.js';
import { usage, UsageError } from './usage.js';

/** Where a command writes. */
export interface Console {
  out(text: string): void;
  error(text: string): void;
}

const codes = { done: 0, differs: 1, usage: 2, failed: 3 } as const;

/** Carries out a command line, without the program's name; returns the exit code. */
export async function command(args: readonly string[], console: Console): Promise<number> {
  try {
    return await dispatch(args, console);
  } catch (error) {
    if (error instanceof UsageError || isArgumentMistake(error)) {
      console.error(`kaon: ${(error as Error).message}\n\n${usage}`);
      return codes.usage;
    }
    if (!(error instanceof KaonError)) throw error;
    console.error(`kaon: ${error.message}\n`);
    return codes.failed;
  }
}

/** What `parseArgs` refuses. */
function isArgumentMistake(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS');
}

async function dispatch(args: readonly string[], console: Console): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      text: { type: 'boolean' },
      train: { type: 'boolean' },
      input: { type: 'string', multiple: true },
      out: { type: 'string' },
    },
  });
  if (values.help === true) {
    console.out(usage);
    return codes.done;
  }
  const [name, ...files] = positionals;
  const take = (count: number, what: string): readonly string[] => {
    if (files.length !== count) throw new UsageError(`kaon ${name} takes ${what}`);
    return files;
  };
  switch (name) {
    case 'inspect': {
      const graph = await readGraph(take(1, 'a graph')[0]);
      console.out(values.text === true ? `${graph.toString()}\n` : inspect(graph));
      return codes.done;
    }
    case 'run': {
      const graph = await readGraph(take(1, 'a graph')[0]);
      const outputs = await runGraph(graph, values.input ?? []);
      if (values.out !== undefined) await writeOutputs(values.out, outputs);
      else for (const [key, array] of Object.entries(outputs)) console.out(`${key} = ${String(array)}\n`); // prettier-ignore
      return codes.done;
    }
    case 'convert': {
      const [from, to] = take(2, 'a graph and the file to write');
      const written = await convert(await readGraph(from), to, values.train ?? false);
      console.out(`${written.join('\n')}\n`);
      return codes.done;
    }
    case 'diff': {
      const [a, b] = await Promise.all(take(2, 'two graphs').map(readGraph));
      const lines = diffGraphs(a, b);
      for (const line of lines) console.out(`${line}\n`);
      return lines.length === 0 ? codes.done : codes.differs;
    }
    case undefined:
      throw new UsageError('say what to do');
    default:
      throw new UsageError(`there is no command ${name}`);
  }
}
