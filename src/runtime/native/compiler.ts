import type { Target } from '../../loop/language/target.js';
import { Job } from './job.js';
import { compilerCommands } from '../../base/compilers.js';
import type { Environment, NodeModules } from '../../base/node.js';
import { cachesOf, type Macros, incompatibility, parseMacros, targetOf } from './processor.js';

/** A C compiler that works. */
export interface Compiler {
  /** The program and what it is always given. */
  readonly command: readonly string[];
  /** Flags that select the instructions of this processor. */
  readonly processorFlags: readonly string[];
  readonly macros: Macros;
  readonly target: Target;
}

/**
 * Flags of all compilations, besides those that select a processor. Nothing here may change a result:
 * products are never contracted into sums, and what the flags give up is who notices a floating-point
 * exception.
 */
export const commonFlags: readonly string[] = [
  '-std=gnu11',
  '-O3',
  '-fPIC',
  '-shared',
  '-fvisibility=hidden',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-fno-strict-aliasing',
  '-fwrapv',
  '-w',
];

/** Compilers for some processors know only one of the two flags. */
const probeScript = `for flag in -march=native -mcpu=native ''; do
  if "$@" $flag -dM -E -x c /dev/null; then printf '%s' "$flag" >flag; exit; fi
done
exit 1`;

const probeLimit = 10_000;

/** Asks compilers, one after the other, what they compile for, until one answers. */
export class CompilerSearch {
  readonly #node: NodeModules;
  readonly #folder: string;
  readonly #env: Environment;
  readonly #commands: (readonly string[])[];
  readonly #problems: string[] = [];
  #asked: Asked | null = null;
  #found: Compiler | string | null = null;

  /** @param folder For files, to be removed by the caller. */
  constructor(node: NodeModules, env: Environment, folder: string) {
    this.#node = node;
    this.#folder = folder;
    this.#env = env;
    this.#commands = [...compilerCommands(node, env)];
  }

  /** The compiler, or why there is none; null while it is searched for. */
  poll(): Compiler | string | null {
    while (this.#found === null) {
      this.#asked ??= this.#ask();
      if (this.#asked === null) {
        this.#found = ['no compiler found', ...this.#problems].join('; ');
        break;
      }
      const result = this.#asked.job.poll();
      if (result === null) return null;
      const { command, folder } = this.#asked;
      this.#asked = null;
      if (result.code === 0) this.#judge(command, result.stdout, folder);
      else this.#problems.push(`${command[0]}: ${firstLine(result.stderr)}`);
    }
    return this.#found;
  }

  #ask(): Asked | null {
    const command = this.#commands.shift();
    if (command === undefined) return null;
    const folder = this.#node.files.mkdtempSync(this.#node.path.join(this.#folder, 'probe-'));
    const job = new Job({
      node: this.#node,
      env: this.#env,
      folder,
      script: probeScript,
      args: command,
      limitMilliseconds: probeLimit,
    });
    return { command, job, folder };
  }

  #judge(command: readonly string[], text: string, folder: string): void {
    const macros = parseMacros(text);
    const obstacle = incompatibility(macros);
    if (obstacle !== null) {
      this.#problems.push(`${command[0]}: ${obstacle}`);
      return;
    }
    const flag = this.#node.files.readFileSync(this.#node.path.join(folder, 'flag'), 'utf8');
    const processorFlags = flag === '' ? [] : [flag];
    this.#found = {
      command,
      processorFlags,
      macros,
      target: targetOf(macros, cachesOf(this.#node)),
    };
  }
}

interface Asked {
  readonly command: readonly string[];
  readonly job: Job;
  readonly folder: string;
}

/** The first line that says what is wrong. */
export function firstLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  const error = lines.find((line) => /\berror\b/i.test(line));
  return error ?? lines.find((line) => line !== '') ?? 'it failed without a word';
}
