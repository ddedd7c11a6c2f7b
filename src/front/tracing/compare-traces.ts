import {
  sameStructure,
  type TreeStructure,
  structureToString,
} from '../../base/attributes/tree.js';
import type { GraphParts, Holder, ExternalRef } from '../graphs/graph.js';
import {
  describeHolder,
  type Difference,
  describeOutput,
  describeOutside,
  lastSource,
  type TraceSide,
  sourceOf,
} from './describe-trace.js';
import type { Segment } from './segments.js';
import type { Trace } from './trace.js';
import { ProgramComparison } from './compare-programs.js';

/**
 * The first difference between two traces of one function; null when they are equal. Text is made only when
 * something differs.
 *
 * @param sizes Values of the first trace's symbols, when the second was made for these very sizes.
 */
export function compareTraces(
  first: Trace,
  second: Trace,
  sizes: ReadonlyMap<string, number> = new Map(),
): Difference | null {
  const count = Math.min(first.segments.length, second.segments.length);
  for (let k = 0; k < count; k++) {
    const [a, b] = [first.segments[k], second.segments[k]];
    // Values of earlier segments may have data-dependent sizes with other names.
    const mayRename = k > 0;
    const difference =
      new ProgramComparison(sizes).compare(a.parts.program, b.parts.program, { mayRename }) ??
      compareReads(a.parts, b.parts) ??
      compareWrites(a.parts, b.parts) ??
      compareRecording(a.parts, b.parts) ??
      compareCode(a, b);
    if (difference !== null) return difference;
  }
  return compareResults(first, second);
}

/** Compares side-effect code: the same function, called with the same nesting of arrays. */
function compareCode(first: Segment, second: Segment): Difference | null {
  const [a, b] = [first.code, second.code];
  const isSame =
    a?.code === b?.code &&
    a?.takes.join() === b?.takes.join() &&
    (a === null || b === null || sameStructure(a.argStructure, b.argStructure));
  if (isSame) return null;
  const sideOf = ({ code, parts }: Segment): TraceSide =>
    code === null
      ? { text: 'nothing more', source: lastSource(parts.program) }
      : {
          text: `${code.code.name || 'side-effect code'}(${structureToString(code.argStructure).slice(1, -1)})`,
          source: code.source,
        };
  return {
    problem: 'other side-effect code',
    first: sideOf(first),
    second: sideOf(second),
    subject: 'the code; or call staticCode once, outside of the captured function',
  };
}

function compareReads(first: GraphParts, second: GraphParts): Difference | null {
  const at = differentAt(first.reads, second.reads);
  if (at < 0) return null;
  const sideOf = ({ program, reads }: GraphParts): TraceSide => {
    const input = program.inputs[program.inputs.length - reads.length + at];
    return {
      text: describeOutside(reads[at]),
      source: (input && sourceOf(program, input.node)) ?? lastSource(program),
    };
  };
  return {
    problem: 'it reads another array',
    first: sideOf(first),
    second: sideOf(second),
    subject: 'the array; or keep one array and assign to it',
  };
}

function compareWrites(first: GraphParts, second: GraphParts): Difference | null {
  const at = differentAt(first.writes, second.writes);
  if (at < 0) return null;
  const sideOf = ({ program, writes }: GraphParts): TraceSide => ({
    text: describeOutside(writes[at]),
    source: describeOutput(program, program.outputs.length - writes.length + at).source,
  });
  return { problem: 'it writes another array', first: sideOf(first), second: sideOf(second) };
}

/** Compares what recordings see of the graphs, which operators need not show. */
function compareRecording(first: GraphParts, second: GraphParts): Difference | null {
  const sideOf = (parts: GraphParts, text: string): TraceSide => ({
    text,
    source: lastSource(parts.program),
  });
  const [records, recordsNow] = [first, second].map(({ isRecording }) => isRecording === true);
  if (records !== recordsNow) {
    const describe = (isRecording: boolean): string =>
      isRecording ? 'a result that was recorded' : 'no result that was recorded';
    return {
      problem: 'it records something else',
      first: sideOf(first, describe(records)),
      second: sideOf(second, describe(recordsNow)),
    };
  }
  const [before, now] = [first, second].map(({ touched }) => new Set(touched));
  const gone = [...before].find((holder) => !now.has(holder));
  const added = [...now].find((holder) => !before.has(holder));
  if (gone === undefined && added === undefined) return null;
  const textOf = (holder: Holder | undefined): string =>
    holder === undefined ? 'nothing more' : describeHolder(holder);
  return {
    problem: 'it records something else',
    first: sideOf(first, textOf(gone)),
    second: sideOf(second, textOf(added)),
  };
}

function differentAt(first: readonly ExternalRef[], second: readonly ExternalRef[]): number {
  for (let i = 0; i < Math.max(first.length, second.length); i++) {
    if (!sameOutside(first[i], second[i])) return i;
  }
  return -1;
}

function sameOutside(a: ExternalRef | undefined, b: ExternalRef | undefined): boolean {
  if (a === undefined || b === undefined || a.kind !== b.kind) return false;
  if (a.kind === 'random') return a.draws === (b as typeof a).draws;
  if (a.kind === 'gradient' && a.attach !== (b as typeof a).attach) return false;
  return a.of === (b as typeof a).of;
}

function compareResults(first: Trace, second: Trace): Difference | null {
  if (sameStructure(first.outputs, second.outputs)) return null;
  const [path, a, b] = differentParts(first.outputs, second.outputs, '');
  const sideOf = ({ segments }: Trace, part: TreeStructure): TraceSide => ({
    text: structureToString(part),
    source: lastSource(segments[segments.length - 1].parts.program),
  });
  return {
    problem: `the result differs${path === '' ? '' : ` at ${path}`}`,
    first: sideOf(first, a),
    second: sideOf(second, b),
  };
}

/** The innermost place in which two nestings differ. */
function differentParts(
  a: TreeStructure,
  b: TreeStructure,
  path: string,
): readonly [path: string, first: TreeStructure, second: TreeStructure] {
  const areAlike =
    (a.kind === 'list' && b.kind === 'list' && a.entries.length === b.entries.length) ||
    (a.kind === 'record' && b.kind === 'record' && a.keys.join('\0') === b.keys.join('\0'));
  if (areAlike && 'entries' in a && 'entries' in b) {
    const at = a.entries.findIndex((entry, i) => !sameStructure(entry, b.entries[i]));
    const key = a.kind === 'record' ? `.${a.keys[at]}` : `[${at}]`;
    if (at >= 0) return differentParts(a.entries[at], b.entries[at], path + key);
  }
  return [path, a, b];
}
