import {
  encodeMappings,
  type InputMap,
  type MapSegment,
  type SourceMap,
} from '../maps/source-map.js';
import type { Parsed } from '../syntax/parse.js';

/** A piece of the output: text of the source, or new text that stands for a place of it. */
export type Piece =
  | { readonly start: number; readonly end: number }
  | { readonly text: string; readonly at: number | null };

/** New text; `at` is the offset in the source that errors in it are reported at. */
export function added(text: string, at: number | null = null): Piece {
  return { text, at };
}

/** Puts pieces together. Every token of the source that is in a piece maps back to where it was. */
export function assemble(
  pieces: readonly Piece[],
  { code, filename, tokens }: Parsed,
): { readonly code: string; readonly map: SourceMap } {
  const places = new Places(code);
  const parts: string[] = [];
  const lines: MapSegment[][] = [[]];
  let column = 0;
  const mark = (offset: number): void => {
    const { line, column: sourceColumn } = places.of(offset);
    lines[lines.length - 1].push({ column, source: 0, line, sourceColumn });
  };
  const write = (text: string): void => {
    parts.push(text);
    for (let from = text.indexOf('\n'), last = 0; ; from = text.indexOf('\n', last)) {
      if (from < 0) {
        column += text.length - last;
        return;
      }
      lines.push([]);
      column = 0;
      last = from + 1;
    }
  };
  for (const piece of pieces) {
    if ('text' in piece) {
      if (piece.at !== null) mark(piece.at);
      write(piece.text);
      continue;
    }
    let at = piece.start;
    for (let k = firstFrom(tokens, piece.start); k < tokens.length; k++) {
      const { start } = tokens[k];
      if (start >= piece.end) break;
      write(code.slice(at, start));
      mark(start);
      at = start;
    }
    write(code.slice(at, piece.end));
  }
  const map: SourceMap = {
    version: 3,
    file: filename,
    sources: [filename],
    sourcesContent: [code],
    names: [],
    mappings: encodeMappings(lines),
  };
  return { code: parts.join(''), map };
}

/** The first token that starts at an offset or after it. */
function firstFrom(tokens: Parsed['tokens'], offset: number): number {
  let [low, high] = [0, tokens.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens[middle].start < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lines and columns of offsets, both from 0. */
export class Places {
  readonly #starts: readonly number[];
  readonly #inputMap: InputMap | null;

  /** @param inputMap The map of code that another tool has written: errors tell places in its source. */
  constructor(code: string, inputMap: InputMap | null = null) {
    this.#inputMap = inputMap;
    this.#starts = [0, ...Array.from(code.matchAll(/\n/g), ({ index }) => index + 1)];
  }

  of(offset: number): { readonly line: number; readonly column: number } {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return { line: low, column: offset - this.#starts[low] };
  }

  /** `line:column` in the source as editors and stacks count them, from 1. */
  text(offset: number): string {
    const { line, column } = this.of(offset);
    const traced = this.#inputMap?.trace(line, column);
    if (traced !== undefined) return `${traced.line + 1}:${traced.sourceColumn + 1}`;
    return `${line + 1}:${column + 1}`;
  }
}
