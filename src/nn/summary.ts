import { NDArray } from '../front/core/ndarray.js';
import { predictMode, pause } from '../front/autograd/index.js';
import { flattenTree } from '../base/attributes/tree.js';
import type { Block } from './block.js';
import { Parameter } from './parameter.js';

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly output: string;
  readonly parameters: number;
}

/** The table of `Block.summary`: blocks in the order in which they first ran. State is restored afterwards. */
export function summarize(block: Block, args: readonly unknown[]): string {
  const names = new Map<Block, string>();
  for (const [path, member] of block.descendants()) {
    if (!(member instanceof Parameter) && member !== block && !names.has(member)) {
      names.set(member, path);
    }
  }
  const outputs = new Map<Block, string>();
  const restore = [block, ...names.keys()].flatMap((member) => [
    member.suspendCapture(),
    observe(member, (output) => outputs.set(member, output)),
  ]);
  const before = stateOf(block);
  try {
    pause(() => predictMode(() => block.call(...(args as never[]))));
  } finally {
    for (const undo of restore) undo();
    for (const parameter of stateOf(block).keys()) {
      const value = before.get(parameter);
      if (value === undefined) parameter.reset();
      else parameter.assign(value);
    }
  }
  const rows = [...outputs].map(([member, output]): Row => ({
    name: names.get(member) ?? '(whole)',
    kind: member.constructor.name,
    output,
    parameters: ownParameters(member),
  }));
  return render(rows, [...block.parameters().values()]);
}

/** The values of all parameters below a block that have one. */
function stateOf(block: Block): ReadonlyMap<Parameter, NDArray> {
  const kept = [...block.parameters().values()].filter(
    ({ gradReq, isInitialized }) => gradReq === 'null' && isInitialized,
  );
  return new Map(kept.map((parameter) => [parameter, parameter.value.detach()]));
}

function observe(block: Block, report: (output: string) => void): () => void {
  const { forward } = block;
  const own = Object.hasOwn(block, 'forward');
  block.forward = (...args: never[]): unknown => {
    const output = forward.apply(block, args);
    report(shapes(output));
    return output;
  };
  return () => {
    if (own) block.forward = forward;
    else delete (block as { forward?: unknown }).forward;
  };
}

function shapes(output: unknown): string {
  const { leaves } = flattenTree(output, (leaf): leaf is NDArray => leaf instanceof NDArray);
  return leaves.map((leaf) => `${leaf.dtype}[${leaf.shape.join(', ')}]`).join(', ');
}

function ownParameters(block: Block): number {
  return [...block.members()].reduce(
    (total, [, member]) => total + (member instanceof Parameter ? count(member) : 0),
    0,
  );
}

function count(parameter: Parameter): number {
  return parameter.shape.reduce<number>((size, extent) => size * (extent ?? 0), 1);
}

function render(rows: readonly Row[], parameters: readonly Parameter[]): string {
  const trained = parameters.filter(({ gradReq }) => gradReq !== 'null');
  const total = (list: readonly Parameter[]): number =>
    list.reduce((sum, parameter) => sum + count(parameter), 0);
  const cells = [
    ['block', 'kind', 'output', 'parameters'],
    ...rows.map((row) => [row.name, row.kind, row.output, String(row.parameters)]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        column === 3 ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join('  '),
  );
  return [...lines, `${total(parameters)} parameters, ${total(trained)} of them trained`].join(
    '\n',
  );
}
