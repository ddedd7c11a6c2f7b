import type { ExternalRef, GraphParts, Holder } from '../graphs/graph.js';
import {
  describeHolder,
  describeOutput,
  describeOutside,
  lastSource,
  sourceOf,
  type TraceSide,
} from './describe-trace.js';

/** Difference between two traces of one function. */
export interface Difference {
  readonly problem: string;
  readonly first: TraceSide;
  readonly second: TraceSide;
  /** What to pass as an argument: the differing value, or the deciding one. */
  readonly subject?: string;
}

export function compareReads(first: GraphParts, second: GraphParts): Difference | null {
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

export function compareWrites(first: GraphParts, second: GraphParts): Difference | null {
  const at = differentAt(first.writes, second.writes);
  if (at < 0) return null;
  const sideOf = ({ program, writes }: GraphParts): TraceSide => ({
    text: describeOutside(writes[at]),
    source: describeOutput(program, program.outputs.length - writes.length + at).source,
  });
  return { problem: 'it writes another array', first: sideOf(first), second: sideOf(second) };
}

/** Compares what recordings see of the graphs, which operators need not show. */
export function compareRecording(first: GraphParts, second: GraphParts): Difference | null {
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
