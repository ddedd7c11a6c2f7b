import { moduleToC } from '../../codegen/c/index.js';
import type { Module } from '../../loop/language/nodes.js';
import { mainName } from '../../passes/lower/main/main.js';
import { functionName } from './cache.js';
import { commonFlags, type Compiler } from './compiler.js';
import type { NodeModules } from '../../base/node.js';

/** A program, ready for the compiler. */
export interface NativeSource {
  /** Equal for programs that become the same code. */
  readonly key: string;
  /** A whole file of C, with a function of the key's name. */
  readonly text: string;
  /** True where that function is for a thread of a team. */
  readonly hasTeam: boolean;
}

/** Counts the ways in which functions are called, so that code made for an earlier one is not found. */
const callingConvention = 2;

/**
 * Number of parameters of a `main` that several threads run: addresses are wide, so that it takes its table
 * twice.
 */
const teamParameters = 7;

/** The function of a marked program that takes what its marks call, by the name of the program's own. */
export function markSetter(name: string): string {
  return `${name}_mark`;
}

/** The C of an optimized module. Its external kernel, if it has one, takes the number of a step. */
export function nativeSource(
  { crypto }: NodeModules,
  { command, processorFlags, macros }: Compiler,
  module: Module,
): NativeSource {
  const { source, nameOf, pointerOf } = moduleToC(module);
  const main = module.kernels.find(({ name }) => name === mainName)!;
  const facts = [
    callingConvention, process.platform, process.arch,
    command, processorFlags, commonFlags, [...macros].sort(([a], [b]) => (a < b ? -1 : 1)), source,
  ]; // prettier-ignore
  const key = crypto.createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  // The table, and behind it the memory from its first byte on; for a team also where it meets, and which of
  // its threads this is. Addresses are distances from the first byte of the memory, also where they lie outside.
  const hasTeam = main.params.length === teamParameters;
  const team = hasTeam ? ['team', 'thread', 'threads'] : [];
  const whole = main.params.slice(2, main.params.length - team.length).map(() => '0');
  const parameters = ['uint8_t *memory', 'int64_t table'];
  if (hasTeam) parameters.push('int64_t team', 'int32_t thread', 'int32_t threads');
  const visible = '__attribute__((visibility("default"))) void';
  const entry = [
    `${visible} ${functionName(key)}(${parameters.join(', ')}) {`,
    `  ${nameOf(main)}(${['memory', 'table', 'table', ...whole, ...team].join(', ')});`,
    '}',
  ];
  const mark = module.kernels.find(({ isExternal }) => isExternal);
  if (mark !== undefined) {
    const given = `${visible} ${markSetter(functionName(key))}(void (*mark)(int32_t))`;
    entry.push(`${given} { ${pointerOf(mark)} = mark; }`);
  }
  return { key, text: `${source}\n${entry.join('\n')}\n`, hasTeam };
}
