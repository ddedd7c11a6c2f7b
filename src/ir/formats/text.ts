/**
 * Programs as text, for people and for tests of passes; `parse.ts` reads it back exactly.
 *
 *     program {
 *       dim 1 <= n <= 512
 *       size rows
 *       input x: float32[n, 3]
 *       %0 = constant float32[3] [1, 2, 3]
 *       %1 = mul(x, %0): float32[n, 3]  // model.ts:3:11
 *       require n - 2 >= 0 {error: "shape", op: "topK", ...}  // model.ts:4:9
 *       %2, %3 = topK(%1) {k: 2, axis: -1}: float32[n, 2], int64[n, 2]
 *       %4 = call(%2) [@1 {
 *         input y: float32[m, 2]
 *         output y = y
 *       }]: float32[n, 2]
 *       %5 = booleanMask(x, keep): float32[count, 3] decides [count]
 *       output best = %4
 *     }
 *
 * A name that is not an identifier is a JSON string. A region is written out where it is first owned;
 * its number stands for it wherever it is shared. A `size` is one that the program is passed. The sizes that a call decides may be left out where its results
 * are the first to speak of them.
 */
import type { Json } from '../../base/attributes/attribute.js';
import { type Bounds, type DimExpr, symbolTable } from '../../base/dim/index.js';
import { printable, quoted } from '../../base/escape.js';
import { encodeAttributes, symbolsOfAttributes } from '../../base/attributes/schema.js';
import { bytesToBase64, wordsOf } from './constants.js';
import {
  type CallNode,
  type DecidedSize,
  type Program,
  typeToString,
  type Value,
} from '../program.js';
import { conditionKey, requirementToJSON } from '../requirement.js';

/** The program as text; `parseProgram` is the inverse. */
export function printProgram(program: Program): string {
  const lines: string[] = [];
  printBlock('program', program, '', lines, new Map());
  return `${lines.join('\n')}\n`;
}

function printBlock(
  head: string,
  program: Program,
  indent: string,
  lines: string[],
  regions: Map<Program, number>,
): void {
  const inner = `${indent}  `;
  lines.push(`${indent}${head} {`);
  for (const [name, { min, max }] of programRanges(program)) {
    if (min === 0 && max === Infinity) continue;
    lines.push(`${inner}dim ${min} <= ${name}${max === Infinity ? '' : ` <= ${max}`}`);
  }
  for (const { key } of program.sizes) lines.push(`${inner}size ${key}`);
  // The number of each node's first result; variables are printed by name.
  const numbers = new Uint32Array(program.graph.nodeCount);
  let count = 0;
  const nameOf = ({ node: id, port }: Value): string => {
    const node = program.node(id);
    return node.kind === 'variable' ? word(node.name) : `%${numbers[id] + port}`;
  };
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') {
      lines.push(`${inner}input ${word(node.name)}: ${typeToString(node.type)}`);
      continue;
    }
    if (node.kind === 'check') {
      const { dim: _, is: __, ...said } = requirementToJSON(node.requirement);
      const comment = printSource(node.requirement.source);
      const condition = conditionKey(node.requirement);
      lines.push(`${inner}require ${condition} ${printJson(said)}${comment}`);
      continue;
    }
    const results = program.results(id);
    numbers[id] = count;
    count += results.length;
    const left = results.length === 0 ? '_' : results.map(nameOf).join(', ');
    if (node.kind === 'constant') {
      const words = wordsOf(node.data);
      const data =
        words === null ? JSON.stringify(bytesToBase64(node.data)) : `[${words.join(', ')}]`;
      lines.push(`${inner}${left} = constant ${typeToString(node.data.type)} ${data}`);
      continue;
    }
    const operands = program.operands(id).map(nameOf).join(', ');
    const call = `${left} = ${word(node.op.name)}(${operands})${printAttributes(node)}`;
    printCall(call, node, inner, lines, regions);
  }
  for (const { name, value } of program.outputs) {
    lines.push(`${inner}output ${word(name)} = ${nameOf(value)}`);
  }
  lines.push(`${indent}}`);
}

function printCall(
  call: string,
  { regions, types, decides, source }: CallNode,
  indent: string,
  lines: string[],
  numbers: Map<Program, number>,
): void {
  const tail = `: ${types.map(typeToString).join(', ')}${printDecided(decides)}${printSource(source)}`;
  let head = `${call}${regions.length === 0 ? '' : ' ['}`;
  regions.forEach((region, k) => {
    const last = k === regions.length - 1;
    const known = numbers.get(region);
    if (known !== undefined) {
      head += `@${known}${last ? ']' : ', '}`;
      return;
    }
    numbers.set(region, numbers.size);
    printBlock(`${head}@${numbers.get(region)}`, region, indent, lines, numbers);
    head = `${lines.pop()!.slice(indent.length)}${last ? ']' : ', '}`;
  });
  lines.push(`${indent}${head}${tail}`);
}

/** Every symbol of a program with its range, in the order of first mention. */
export function programRanges(program: Program): ReadonlyMap<string, Bounds> {
  const ranges = new Map<string, Bounds>();
  const seen = new Set<DimExpr>();
  for (const size of program.sizes) symbolTable(size, ranges);
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    for (const { type } of program.results(id)) {
      for (const dim of type.shape) {
        if (typeof dim === 'number' || seen.has(dim)) continue;
        seen.add(dim);
        symbolTable(dim, ranges);
      }
    }
    if (node.kind !== 'call') continue;
    symbolsOfAttributes(node.op.attributes, node.attributes, ranges);
    for (const { size } of node.decides) symbolTable(size, ranges);
  }
  return ranges;
}

function printDecided(decides: readonly DecidedSize[]): string {
  if (decides.length === 0) return '';
  const sizes = decides.map(({ size, most }) =>
    most === null ? String(size) : `${String(size)} <= ${String(most)}`,
  );
  return ` decides [${sizes.join(', ')}]`;
}

function printSource(source: string | undefined): string {
  return source === undefined ? '' : `  // ${printable(source)}`;
}

function printAttributes({ op, attributes }: CallNode): string {
  const encoded = encodeAttributes(op.attributes, attributes);
  return Object.keys(encoded).length === 0 ? '' : ` ${printJson(encoded)}`;
}

function printJson(json: Json): string {
  if (Array.isArray(json)) return `[${json.map(printJson).join(', ')}]`;
  if (typeof json !== 'object' || json === null)
    return typeof json === 'string' ? quoted(json) : JSON.stringify(json);
  const entries = Object.entries(json).map(([key, value]) => `${word(key)}: ${printJson(value)}`);
  return `{${entries.join(', ')}}`;
}

function word(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoted(name);
}
