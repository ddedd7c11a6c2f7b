import { parseArgs } from 'node:util';
import { KaonError } from '../base/errors.js';
import { printable, printableLines } from '../base/escape.js';
import { converterFor, graphWriterFor } from './convert.js';
import { diffGraphs } from './diff.js';
import { readGraph } from './graphs.js';
import { inspect } from './inspect.js';
import { readInputs } from './inputs.js';
import { planText } from './plan.js';
import { runGraph, writerFor } from './run.js';
import { sizesFrom } from './sizes.js';
import {
  type CommandName,
  FileError,
  type OptionName,
  options,
  help,
  helpOf,
  hintFor,
  UsageError,
  usages,
} from './usage.js';

/** Input and output of a command. */
export interface Console {
  out(text: string): void;
  error(text: string): void;
  /** All of the standard input. */
  read(): Promise<Uint8Array>;
}

export const codes = { done: 0, differs: 1, usage: 2, failed: 3, broken: 4 } as const;

/** Runs a command line, without the program's name; returns the exit code. */
export async function command(args: readonly string[], output: Console): Promise<number> {
  // Names and messages come from untrusted files, so control characters are escaped.
  const console: Console = {
    out: (text) => output.out(printableLines(text)),
    error: (text) => output.error(printableLines(text)),
    read: () => output.read(),
  };
  const [name, ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    console.out(help);
    return codes.done;
  }
  if (!isCommand(name)) {
    const problem = name === undefined ? 'say what to do' : `there is no command ${name}`;
    console.error(`kaon: ${problem}\n\n${help}`);
    return codes.usage;
  }
  try {
    return await carryOut(name, parse(name, rest), console);
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`kaon ${name}: ${error.message}\n${hintFor(name)}`);
      return codes.usage;
    }
    if (!(error instanceof KaonError || error instanceof FileError)) throw error;
    console.error(`kaon ${name}: ${error.message}\n`);
    return codes.failed;
  }
}

function isCommand(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(usages, name);
}

interface Parsed {
  readonly values: ReturnType<typeof parseAll>['values'];
  readonly operands: readonly string[];
}

function parseAll(
  args: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>> {
  return parseArgs({ args: [...args], allowPositionals: true, options });
}

/** @throws UsageError for options that the command does not have. */
function parse(name: CommandName, args: readonly string[]): Parsed {
  try {
    const { values, positionals } = parseAll(args);
    const taken: readonly OptionName[] = usages[name].options;
    for (const option of Object.keys(values) as OptionName[]) {
      if (option !== 'help' && !taken.includes(option)) {
        throw new UsageError(`there is no option --${option}`);
      }
    }
    return { values, operands: positionals };
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS')) throw error;
    throw new UsageError((error as Error).message, { cause: error });
  }
}

async function carryOut(
  name: CommandName,
  { values, operands }: Parsed,
  console: Console,
): Promise<number> {
  if (values.help === true) {
    console.out(helpOf(name));
    return codes.done;
  }
  const take = (count: number, what: string): readonly string[] => {
    if (operands.length === count) return operands;
    throw new UsageError(`give ${what}; these are ${operands.length}: ${operands.join(' ')}`);
  };
  const graphIn = (path: string): ReturnType<typeof readGraph> => readGraph(path, console);
  switch (name) {
    case 'inspect': {
      const [path] = take(1, 'one graph');
      const sizes = sizesFrom(values.size ?? []);
      if (values.text === true && values.plan === true) {
        throw new UsageError('--text or --plan, not both');
      }
      const graph = await graphIn(path);
      if (values.text === true) console.out(`${graph.toString()}\n`);
      else console.out(values.plan === true ? planText(graph, sizes) : inspect(graph, sizes));
      return codes.done;
    }
    case 'run': {
      const [path] = take(1, 'one graph');
      const write = values.out === undefined ? null : writerFor(values.out);
      const keep = values.save === undefined ? null : graphWriterFor(values.save);
      const graph = await graphIn(path);
      write?.check(graph);
      const outputs = runGraph(graph, await readInputs(values.input ?? []));
      if (keep !== null) await keep(graph);
      if (write !== null) await write.write(outputs);
      else for (const [key, array] of Object.entries(outputs)) console.out(`${printable(key)} = ${String(array)}\n`); // prettier-ignore
      return codes.done;
    }
    case 'convert': {
      const [from, to] = take(2, 'a graph and the file to write');
      const { train = false, external = false, opset, states, input } = values;
      const write = converterFor(to, { train, external, opset, states });
      const check = input === undefined ? undefined : await readInputs(input);
      const written = await write(await graphIn(from), check);
      console.out(`${written.join('\n')}\n`);
      return codes.done;
    }
    case 'transform': {
      const [path] = take(1, 'one file of TypeScript or JavaScript');
      const { out, explain = false, check = false } = values;
      // Loaded lazily: it needs an optional package.
      const { transformFile } = await import('./transform.js');
      const { text, hasRefusals } = await transformFile({ path, out, explain, check });
      console.out(text);
      return hasRefusals ? codes.differs : codes.done;
    }
    case 'diff': {
      const paths = take(2, 'two graphs');
      if (paths.every((path) => path === '-')) {
        throw new UsageError('only one of the graphs can be the standard input');
      }
      const [a, b] = await Promise.all(paths.map(graphIn));
      const lines = diffGraphs(a, b);
      for (const line of lines) console.out(`${line}\n`);
      return lines.length === 0 ? codes.done : codes.differs;
    }
  }
}
