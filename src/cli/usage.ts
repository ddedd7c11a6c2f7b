/** What a user got wrong on the command line: told without a stack, and with how it is meant. */
export class UsageError extends Error {}

export const usage = `kaon: look into graphs, run them, and convert them

  kaon inspect GRAPH [--text]            inputs, outputs, operators, parameters, memory; the program with --text
  kaon run GRAPH [--input NAME=FILE]...  runs it once; inputs from .npy or .safetensors files
           [--out FILE]                  writes all outputs to a .safetensors file, or a single one to .npy
  kaon convert GRAPH FILE [--train]      to .mjs (ES module), .c (with its header), .json or .txt (program text)
  kaon diff GRAPH GRAPH                  what only one of two graphs computes
  kaon --help

GRAPH is a file of graph.toJSON(), or an .onnx model. A .safetensors file given as --input FILE holds inputs by name.

Exit codes: 0 done, 1 diff found differences, 2 the command line is wrong, 3 it failed.
`;
