import { toBase64 } from '../../base/base64.js';
import { type Dim, symbol } from '../../base/dim/index.js';
import { commentedLiteral, commentText, jsonLiteral, quoted } from '../../base/escape.js';
import { UnsupportedError } from '../../base/errors.js';
import { encodeModule } from '../../codegen/wasm/index.js';
import { settleInOrder } from '../../ir/bind.js';
import { typeToString } from '../../ir/program.js';
import type { Artifact, ArtifactPort } from '../artifact.js';
import { joinedBytes } from '../bytes.js';
import {
  type Arity,
  bodyLines,
  listText,
  local,
  requirement,
  routineText,
  valueText,
} from './driver.js';
import { helpersText, memoryText, modelText, typedArrays } from './runtime.js';

/** An artifact as JavaScript: self-contained declarations, and the code of `main`. */
export interface ModuleParts {
  /** Declares `open(kernels, memory)` and its helpers. */
  readonly body: string;
  readonly wasm: Uint8Array<ArrayBuffer>;
}

/** The whole module. */
export function moduleSource({ body, wasm }: ModuleParts, artifact: Artifact): string {
  const { inputs, outputs, residents } = artifact;
  const states = residents.filter(({ isState }) => isState);
  const names = (ports: readonly ArtifactPort[]): string =>
    jsonLiteral(ports.map(({ name }) => name));
  const list = (ports: readonly ArtifactPort[]): string =>
    commentText(ports.map((port) => `${port.name} ${typeToString(port)}`).join(', ')) || 'nothing';
  const record = (ports: readonly ArtifactPort[], type: (port: ArtifactPort) => string): string =>
    `{ ${ports.map((port) => `${commentedLiteral(port.name)}: ${type(port)}`).join('; ')} }`;
  return `// From ${list(inputs)} to ${list(outputs)}. Made by Kaon; needs nothing but WebAssembly.
${body}
const memory = new WebAssembly.Memory({ initial: 1, maximum: 32768 });
const { instance } = await WebAssembly.instantiate(decode(${JSON.stringify(toBase64(wasm))}), { env: { memory } });
const model = open(instance.exports, memory);

/** @type {readonly string[]} */
export const inputNames = ${names(inputs)};
/** @type {readonly string[]} */
export const outputNames = ${names(outputs)};
/** Weights and other state, by name. @type {readonly string[]} */
export const stateNames = ${names(states)};

/**
 * @template A
 * @typedef {{ data: A, shape: number[], dtype: string }} Result
 */
/** @typedef {number | bigint | boolean | readonly Nested[]} Nested */
/**
 * @template A
 * @typedef {A | { data: A, shape: readonly number[] } | Nested} Feed
 */

/**
 * Runs the model. Feeds are typed arrays, \`{ data, shape }\`, or nested lists.
 *
 * @type {(feeds: ${record(inputs, ({ dtype }) => `Feed<${typedArrays[dtype]}>`)}) => ${record(outputs, ({ dtype }) => `Result<${typedArrays[dtype]}>`)}}
 */
export const run = model.run;
/** A copy of a state. @type {(name: string) => Result<any>} */
export const getState = model.getState;
/** Overwrites a state with a typed array of its length. @type {(name: string, data: any) => void} */
export const setState = model.setState;
`;
}

export function modulePartsOf(op: string, artifact: Artifact): ModuleParts {
  const { inputs, outputs, residents, module, routines, body } = artifact;
  const states = residents.filter(({ isState }) => isState);
  const held = residents.filter(({ data }) => data.length > 0);
  const bytes = joinedBytes(held.map(({ data }) => data));
  const open = (port: ArtifactPort): Json => ({
    name: port.name,
    dtype: port.dtype,
    shape: port.shape.map((dim) => (typeof dim === 'number' ? dim : null)),
  });
  const sizes = [...artifact.symbols.keys()].map(local);
  const arity: Arity = (main) => module.kernels.find(({ name }) => name === main)!.params.length;
  const indented = (lines: readonly string[], by: string): string =>
    lines.map((line) => `${by}${line}\n`).join('');
  const stages = inputs.flatMap(({ address, dtype }, i) =>
    address === null ? [] : [`stage(given[${i}], '${dtype}', ${valueText(address)});`],
  );
  const results = outputs.map(({ address, shape }) => `{ address: ${valueText(address)}, shape: ${listText(shape)} }`); // prettier-ignore
  const declared = `
const inputs = ${jsonLiteral(inputs.map(open))};
const outputs = ${jsonLiteral(outputs.map(open))};
const states = ${jsonLiteral(states.map((state) => ({ ...(open(state) as object), address: state.address })))};
const residents = ${JSON.stringify(held.map(({ address, data }) => [address, data.byteLength]))};
const residentBytes = ${JSON.stringify(toBase64(bytes))};

function bindSizes(shapes) {
${indented(binding(op, artifact), '  ')}  return { ${sizes.join(', ')} };
}
${helpersText}
function open(kernels, memory) {
${indented(memoryText.trim().split('\n'), '  ')}
${indented(routines.flatMap((routine) => routineText(routine, arity).split('\n')), '  ')}
  function compute(given, { ${sizes.join(', ')} }) {
    reserve(${valueText(artifact.staged)});
${indented([...stages, ...bodyLines(body, arity), `return [${results.join(', ')}];`], '    ')}  }
${indented(modelText.trim().split('\n'), '  ')}}
`; // prettier-ignore
  return { body: declared, wasm: encodeModule(module) };
}

type Json = { readonly [key: string]: unknown };

/** Statements that determine the sizes from the shapes of the inputs, and check them. */
function binding(op: string, { inputs, symbols, requirements }: Artifact): readonly string[] {
  const known = new Map<string, Dim>();
  const lines: string[] = [];
  const extents = inputs.flatMap(({ name, shape }, input) =>
    shape.map((dim, axis) => ({ name, dim, axis, extent: `shapes[${input}][${axis}]` })),
  );
  const open = settleInOrder(extents, known, ({ name, axis, extent }, form) => {
    const input = quoted(name);
    if (form.unknown === null) {
      lines.push(`expect(${input}, ${axis}, ${extent}, ${valueText(form.offset)});`);
      return true;
    }
    const { name: unknown, bounds } = form.unknown;
    lines.push(`const ${local(unknown)} = solve(${quoted(unknown)}, ${input}, ${axis}, ${extent}, ${valueText(form.scale)}, ${valueText(form.offset)}, ${bounds.min}, ${bounds.max});`); // prettier-ignore
    known.set(unknown, symbol(unknown, bounds));
    return true;
  });
  const missing = [...symbols.keys()].filter((name) => !known.has(name));
  if (missing.length > 0) {
    throw new UnsupportedError(`the size of ${missing.join(', ')} cannot be determined`, {
      op,
      expected: `an input with an extent that is linear in ${missing[0]}`,
      actual: open.map(({ dim }) => String(dim)).join(', '),
    });
  }
  for (const { condition, ...refusal } of requirements) lines.push(requirement(condition, refusal));
  return lines;
}
