import { toBase64 } from '../../base/base64.js';
import { type Dim, symbol } from '../../base/dim.js';
import type { DType } from '../../base/dtype.js';
import { UnsupportedError } from '../../base/errors.js';
import { encodeModule } from '../../codegen/wasm/index.js';
import { linearForm } from '../../ir/bind.js';
import { typeToString } from '../../ir/program.js';
import type { Artifact, Port } from '../artifact.js';
import { joinedBytes } from '../bytes.js';
import { type DimStyle, dimText } from '../dimtext.js';
import { runtimeText } from './runtime.js';

/** An artifact as JavaScript: declarations that need nothing, and the code of `main`. */
export interface ModuleParts {
  /** Declares `open(main, memory)` and all that it needs. */
  readonly body: string;
  readonly wasm: Uint8Array<ArrayBuffer>;
}

/** What sizes are called in the module, whose own names do not begin like this. */
const local = (name: string): string => `size_${name}`;

const style: DimStyle = {
  constant: String,
  symbol: local,
  operation: (kind, a, b) =>
    ({
      floorDiv: `Math.floor((${a}) / (${b}))`,
      mod: `((${a}) - Math.floor((${a}) / (${b})) * (${b}))`,
      max: `Math.max(${a}, ${b})`,
      min: `Math.min(${a}, ${b})`,
    })[kind],
};

const text = (dim: Dim): string => dimText(dim, style);
const shapeText = (shape: readonly Dim[]): string => `[${shape.map(text).join(', ')}]`;

const elementTypes: Readonly<Record<DType, string>> = {
  float32: 'Float32Array',
  float64: 'Float64Array',
  float16: 'Uint16Array',
  bfloat16: 'Uint16Array',
  int8: 'Int8Array',
  uint8: 'Uint8Array',
  int32: 'Int32Array',
  int64: 'BigInt64Array',
  bool: 'Uint8Array',
};

/** The whole module. */
export function moduleText({ body, wasm }: ModuleParts, artifact: Artifact): string {
  const { inputs, outputs, residents } = artifact;
  const states = residents.filter(({ isState }) => isState);
  const names = (ports: readonly Port[]): string => JSON.stringify(ports.map(({ name }) => name));
  const list = (ports: readonly Port[]): string =>
    ports.map((port) => `${port.name} ${typeToString(port)}`).join(', ') || 'nothing';
  const record = (ports: readonly Port[], type: (port: Port) => string): string =>
    `{ ${ports.map((port) => `${JSON.stringify(port.name)}: ${type(port)}`).join('; ')} }`;
  return `// From ${list(inputs)} to ${list(outputs)}. Made by Kaon; needs nothing but WebAssembly.
${body}
const memory = new WebAssembly.Memory({ initial: 1, maximum: 32768 });
const { instance } = await WebAssembly.instantiate(decode(${JSON.stringify(toBase64(wasm))}), { env: { memory } });
const model = open(instance.exports.main, memory);

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
 * @type {(feeds: ${record(inputs, ({ dtype }) => `Feed<${elementTypes[dtype]}>`)}) => ${record(outputs, ({ dtype }) => `Result<${elementTypes[dtype]}>`)}}
 */
export const run = model.run;
/** A copy of a state. @type {(name: string) => Result<any>} */
export const getState = model.getState;
/** Overwrites a state with a typed array of its length. @type {(name: string, data: any) => void} */
export const setState = model.setState;
`;
}

export function modulePartsOf(op: string, artifact: Artifact): ModuleParts {
  const { inputs, outputs, residents, layout } = artifact;
  const states = residents.filter(({ isState }) => isState);
  const held = residents.filter(({ data }) => data.length > 0);
  const bytes = joinedBytes(held.map(({ data }) => data));
  const open = (port: Port): Json => ({
    name: port.name,
    dtype: port.dtype,
    shape: port.shape.map((dim) => (typeof dim === 'number' ? dim : null)),
  });
  const updates = residents.flatMap(({ address, next, data }) =>
    next === null ? [] : [`[${address}, ${text(next)}, ${data.byteLength}]`],
  );
  const sizes = [...artifact.symbols.keys()].map(local);
  const body = `
const inputs = ${JSON.stringify(inputs.map(open))};
const outputs = ${JSON.stringify(outputs.map(open))};
const states = ${JSON.stringify(states.map((state) => ({ ...(open(state) as object), address: state.address })))};
const residents = ${JSON.stringify(held.map(({ address, data }) => [address, data.byteLength]))};
const residentBytes = ${JSON.stringify(toBase64(bytes))};
const tableAddress = ${layout.table.address};

function bindSizes(shapes) {
${binding(op, artifact).map((line) => `  ${line}\n`).join('')}  return { ${sizes.join(', ')} };
}

function layOut({ ${sizes.join(', ')} }) {
  return {
    table: [${layout.table.entries.map(text).join(', ')}],
    bytes: ${text(layout.bytes)},
    staging: [${inputs.map(({ address }) => (address === null ? 'null' : text(address))).join(', ')}],
    results: [${outputs.map(({ address, shape }) => `{ address: ${text(address)}, shape: ${shapeText(shape)} }`).join(', ')}],
    updates: [${updates.join(', ')}],
  };
}
${runtimeText}`; // prettier-ignore
  return { body, wasm: encodeModule(artifact.module) };
}

type Json = { readonly [key: string]: unknown };

/** Statements that find the sizes from the shapes of the inputs, and check them. */
function binding(op: string, { inputs, symbols, requirements }: Artifact): readonly string[] {
  const known = new Map<string, Dim>();
  const lines: string[] = [];
  let open = inputs.flatMap(({ name, shape }, input) =>
    shape.map((dim, axis) => ({ name, dim, axis, extent: `shapes[${input}][${axis}]` })),
  );
  for (;;) {
    const unsolved = open.filter(({ name, dim, axis, extent }) => {
      const form = linearForm(dim, known);
      if (form === null) return true;
      const quoted = JSON.stringify(name);
      if (form.unknown === null) {
        lines.push(`expect(${quoted}, ${axis}, ${extent}, ${text(form.offset)});`);
        return false;
      }
      const { name: unknown, bounds } = form.unknown;
      lines.push(`const ${local(unknown)} = solve(${JSON.stringify(unknown)}, ${quoted}, ${axis}, ${extent}, ${text(form.scale)}, ${text(form.offset)}, ${bounds.min}, ${bounds.max});`); // prettier-ignore
      known.set(unknown, symbol(unknown, bounds));
      return false;
    });
    if (unsolved.length === open.length) break;
    open = unsolved;
  }
  const missing = [...symbols.keys()].filter((name) => !known.has(name));
  if (missing.length > 0) {
    throw new UnsupportedError(`the size of ${missing.join(', ')} cannot be determined`, {
      op,
      expected: `an input with an extent that is linear in ${missing[0]}`,
      actual: open.map(({ dim }) => String(dim)).join(', '),
    });
  }
  for (const { condition, problem } of requirements) {
    const holds = `${text(condition.dim)} ${condition.relation === '=' ? '===' : '>='} 0`;
    const words = problem.map((part) => (typeof part === 'string' ? part : `\${${text(part)}}`));
    const message = words.join('').replaceAll('`', "'");
    lines.push(`if (!(${holds})) throw new RangeError(\`${message}\`);`);
  }
  return lines;
}
