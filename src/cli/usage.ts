/** A mistake on the command line: printed without a stack, with the command's usage. */
export class UsageError extends Error {}

/** A file that cannot be read or written. */
export class FileError extends Error {}

/** All options; each command takes some of them. */
export const options = {
  help: { type: 'boolean', short: 'h' },
  text: { type: 'boolean' },
  plan: { type: 'boolean' },
  train: { type: 'boolean' },
  size: { type: 'string', multiple: true },
  input: { type: 'string', multiple: true },
  out: { type: 'string', short: 'o' },
  opset: { type: 'string' },
  external: { type: 'boolean' },
  states: { type: 'string' },
  save: { type: 'string' },
  explain: { type: 'boolean' },
  check: { type: 'boolean' },
} as const;

export type OptionName = keyof typeof options;

const graphText =
  'GRAPH is a file of JSON.stringify(graph.toJSON()), or an ONNX model; - is the standard input.';
const inputText = `An INPUT is NAME=FILE for an .npy file, or for an array of that name in a .safetensors file; FILE for a
.safetensors file of arrays by name; or NAME=VALUE for a number or nested lists: x=[[1,2],[3,4]].`;

/** Usage of a command. */
export interface Usage {
  readonly synopsis: string;
  readonly summary: string;
  readonly details: string;
  readonly options: readonly OptionName[];
}

const commandNames = ['inspect', 'run', 'convert', 'diff', 'transform'] as const;
export type CommandName = (typeof commandNames)[number];

/** The commands, as --help shows them. */
export const usages: Readonly<Record<CommandName, Usage>> = {
  inspect: {
    synopsis: 'kaon inspect GRAPH [--text | --plan] [--size NAME=N]...',
    summary: 'inputs, outputs, parameters, operators and memory',
    options: ['text', 'plan', 'size'],
    details: `  --text         the program as text, in the groups that are computed together
  --plan         the place of each array in memory, and the steps that need it
  --size NAME=N  the size that memory is planned for; 1 and 64 where none is given

${graphText}`,
  },
  run: {
    synopsis: 'kaon run GRAPH [--input INPUT]... [--out FILE] [--save FILE]',
    summary: 'runs it once; prints the outputs, or writes them',
    options: ['input', 'out', 'save'],
    details: `  --input INPUT  an array
  --out FILE     writes all outputs to a .safetensors file, or a single one to an .npy file
  --save FILE    writes the graph with the state that the run has left, as .json or .onnx; it may be GRAPH

${inputText}
${graphText}`,
  },
  convert: {
    synopsis:
      'kaon convert GRAPH FILE [--train] [--external] [--opset N] [--states FILE] [--input INPUT]...',
    summary: 'writes it as .onnx, .mjs, .c, .json or .txt',
    options: ['train', 'external', 'opset', 'states', 'input'],
    details: `  FILE.onnx      an ONNX model
  FILE.mjs, .js  an ES module that needs nothing else
  FILE.c         C99, with FILE.h beside it; FILE is what its functions begin with
  FILE.json      a graph of Kaon
  FILE.txt       the program as text
  --train        the graph may change its own state, as a training step does
  --external     weights lie beside the .onnx or .c file, in FILE.weights
  --opset N      the version of ONNX's operators, 17 to 22
  --states FILE  what runs change is plain inputs of the .onnx model; their values of now go to the
                 .safetensors FILE, which --input of kaon run takes
  --input INPUT  an array; what is written must compute on the inputs what the graph does

${inputText}
${graphText}`,
  },
  diff: {
    synopsis: 'kaon diff GRAPH GRAPH',
    summary: 'what only one of two graphs computes; code 1 if there is something',
    options: [],
    details: `  - LINE  only the first graph computes this
  + LINE  only the second graph does
  ! LINE  a parameter has other values

${graphText}`,
  },
  transform: {
    synopsis: 'kaon transform FILE [-o FILE] [--explain] [--check]',
    summary:
      "converts the plain control flow of functions with 'use graph' in TypeScript or JavaScript",
    options: ['out', 'explain', 'check'],
    details: `  -o FILE    writes the converted file, and its source map in FILE.map
  --explain  prints for every branch and loop what it reads, carries, returns and keeps local
  --check    prints what cannot become a graph where a captured array decides about it; code 1 if there is
             something. Types are not checked`,
  },
};

/** Text of --help for a command. */
export function helpOf(command: CommandName): string {
  const { synopsis, summary, details } = usages[command];
  return `${synopsis}\n\n${summary}\n\n${details}\n`;
}

/** Hint after a usage error. */
export function hintFor(command: CommandName): string {
  return `usage: ${usages[command].synopsis}\n       kaon ${command} --help tells more\n`;
}

export const help: string = `kaon: look into graphs, run them, and convert them and plain control flow

${commandNames.map((name) => `  ${usages[name].synopsis}\n      ${usages[name].summary}\n`).join('')}  kaon COMMAND --help
      what it takes

${graphText}

Exit codes: 0 done, 1 diff has found differences or transform --check something, 2 the command line is wrong, 3 it failed, 4 a mistake in kaon.
`;
