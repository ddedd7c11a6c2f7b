import { type DimBindings, evaluateDim, symbolTable } from '../base/dim/index.js';
import { bytesOf } from '../base/dtype.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import { planMemory } from '../passes/plan/memory.js';
import type { PlannedBuffer } from '../passes/groups/places.js';
import { planParts } from '../runtime/compile/compile.js';
import { bound, checkSizes } from './sizes.js';

/** A part of a graph that is planned as one, with its buffers. */
interface Part {
  readonly title: string;
  readonly groups: number;
  readonly kernels: number;
  readonly places: readonly PlannedBuffer[];
}

function partsOf({ program }: StaticGraph): readonly Part[] {
  return planParts(program).map(({ title, plan }) => ({
    title,
    groups: plan.groups.length,
    kernels: plan.module.kernels.length,
    places: plan.places,
  }));
}

interface Planned {
  readonly sizes: DimBindings;
  readonly bytes: readonly number[];
  readonly offsets: readonly number[];
  readonly total: number;
}

/** The memory plan of a part for some sizes, as the runtime makes it. */
function planned({ places }: Part, asked: DimBindings, otherwise: number): Planned {
  const sizes = bound(places.map(({ length }) => length), asked, otherwise); // prettier-ignore
  const bytes = places.map(({ dtype, length }) => evaluateDim(length, sizes) * bytesOf(dtype));
  const { offsets, bytes: total } = planMemory(
    places.map(({ role, first, last }, i) => ({
      // Inputs are live before the first step.
      first: role.kind === 'input' ? -1 : first,
      last,
      bytes: bytes[i],
    })),
  );
  return { sizes, bytes, offsets, total };
}

/** Sizes for which memory is shown by default. */
const typical = [1, 64];

/** Memory of each part, in lines. */
export function memorySummary(graph: StaticGraph, asked: DimBindings): readonly string[] {
  const parts = partsOf(graph);
  checkSizes(asked, symbolsOf(parts));
  return parts.flatMap((part) => {
    const lines = typical.map((otherwise) => {
      const { sizes, total } = planned(part, asked, otherwise);
      const where = sizesText(sizes);
      return `${byteText(total)}${where === '' ? '' : ` where ${where}`}`;
    });
    const what = part.title === '' ? '' : `${part.title}: `;
    return [
      ...new Set(lines.map((line) => `${what}${line}`)),
      `${what}${part.places.length} arrays, ${part.groups} groups of operators, ${part.kernels} kernels`,
    ];
  });
}

/** Table of the buffers with their offsets. */
export function planText(graph: StaticGraph, asked: DimBindings): string {
  const parts = partsOf(graph);
  checkSizes(asked, symbolsOf(parts));
  return parts
    .map((part) => {
      const { sizes, bytes, offsets, total } = planned(part, asked, typical[1]);
      const where = [part.title, sizesText(sizes)].filter((text) => text !== '').join(', ');
      const rows = part.places.map(({ role, dtype, length, first, last }, i) => [
        String(offsets[i]),
        String(bytes[i]),
        role.kind,
        `${dtype} x ${evaluateDim(length, sizes)}`,
        role.kind === 'input' ? `0 to ${last}` : `${first} to ${last}`,
      ]);
      return `${where === '' ? '' : `${where}\n`}${tableText(['offset', 'bytes', 'what', 'elements', 'steps'], rows)}\n${byteText(total)} in all\n`;
    })
    .join('\n');
}

function symbolsOf(parts: readonly Part[]): ReadonlySet<string> {
  const table = new Map<string, unknown>();
  for (const { places } of parts) {
    for (const { length } of places) for (const name of symbolTable(length).keys()) table.set(name, null); // prettier-ignore
  }
  return new Set(table.keys());
}

function sizesText(sizes: DimBindings): string {
  return [...sizes].map(([name, size]) => `${name} is ${size}`).join(', ');
}

/** `12 bytes`, or `12345 bytes (12.1 kB)`. */
export function byteText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [unit, size] = bytes < 1024 ** 2 ? ['kB', 1024] : ['MB', 1024 ** 2];
  return `${bytes} bytes (${(bytes / size).toFixed(1)} ${unit})`;
}

function tableText(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i].length))); // prettier-ignore
  return [headings, ...rows]
    .map((row) => `  ${row.map((cell, i) => (i < 2 ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ')}`.trimEnd())
    .join('\n'); // prettier-ignore
}
