import { ArgumentError, installWholeStacks } from './errors.js';
import { environmentVariable } from './node.js';

/** One flag of `KAON_DEBUG`. */
export interface FlagInfo {
  /** Effect of the flag, in one line. */
  readonly doc: string;
  readonly default: boolean;
  /** True when the flag makes compilations print. */
  readonly isPrinted: boolean;
}

export type Flag =
  'verify' | 'passes' | 'laws' | 'programs' | 'groups' | 'kernels' | 'memory' | 'stacks';

/**
 * Every debug flag: the environment variable `KAON_DEBUG` names those that are wanted, separated by
 * commas. What they print goes to the standard error stream.
 */
export const flagTable: Readonly<Record<Flag, FlagInfo>> = {
  verify: {
    doc: 'nothing is printed: programs are verified before and after every pass, and what is made of them',
    default: false,
    isPrinted: false,
  },
  passes: {
    doc: 'every stage of every compilation: milliseconds, and nodes before and after or "(unchanged)"',
    default: false,
    isPrinted: true,
  },
  laws: { doc: 'which laws simplified a program, and how often', default: false, isPrinted: true },
  programs: {
    doc: 'a program as text when it arrives and after every pass that changed it',
    default: false,
    isPrinted: true,
  },
  groups: {
    doc: 'which operators were fused, and what each group reads and writes',
    default: false,
    isPrinted: true,
  },
  kernels: {
    doc: 'the loops that groups are lowered to, before they are optimized',
    default: false,
    isPrinted: true,
  },
  memory: {
    doc: 'what lies in memory, when, and at which offset',
    default: false,
    isPrinted: true,
  },
  stacks: {
    doc: 'stacks of errors in full, frames of Kaon included',
    default: false,
    isPrinted: false,
  },
};

export type Flags = Readonly<Record<Flag, boolean>>;

/**
 * Reads a list such as `passes,kernels`; empty entries do not count.
 * @throws ArgumentError for a name that is not in the table.
 */
export function parseFlags(text: string): Flags {
  const wanted = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  for (const name of wanted) {
    if (Object.hasOwn(flagTable, name)) continue;
    throw new ArgumentError(`there is no flag ${JSON.stringify(name)}`, {
      op: 'KAON_DEBUG',
      expected: `a list of ${Object.keys(flagTable).join(', ')}`,
      actual: text,
      advice: flagLines().join('; '),
    });
  }
  return Object.fromEntries(
    Object.entries(flagTable).map(([name, info]) => [name, info.default || wanted.includes(name)]),
  ) as Record<Flag, boolean>;
}

/** The table as lines: `passes: every stage ...`. */
function flagLines(): readonly string[] {
  return Object.entries(flagTable).map(([name, { doc }]) => `${name}: ${doc}`);
}

/** Debug flags that are set, and the sink of their output. */
export interface Debugging {
  readonly flags: Flags;
  /** Prints one or more lines; the last has no line end. */
  print(text: string): void;
}

let debugging: Debugging | undefined;

/**
 * The current flags and output, from the environment unless something else was installed. Without an
 * environment, as in browsers, all flags have their defaults.
 * @throws ArgumentError when the environment names an unknown flag.
 */
export function currentDebugging(): Debugging {
  // oxlint-disable-next-line no-console -- the one place that prints
  return (debugging ??= {
    flags: parseFlags(environmentVariable('KAON_DEBUG') ?? ''),
    print: (text) => console.error(text),
  });
}

/** Replaces flags and output; undefined goes back to the environment. Returns what was in place. */
export function installDebugging(next: Debugging | undefined): Debugging | undefined {
  const previous = debugging;
  debugging = next;
  return previous;
}

installWholeStacks(() => currentDebugging().flags.stacks);
