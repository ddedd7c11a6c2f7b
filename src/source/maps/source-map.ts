/* Source maps, version 3: as data, as text, and one after another. */

/** A source map, version 3. The lists may be written to because the types of bundlers ask for that. */
export interface SourceMap {
  readonly version: 3;
  readonly file: string;
  readonly sources: string[];
  readonly sourcesContent: (string | null)[];
  readonly names: string[];
  readonly mappings: string;
}

/** Fields of a source map by another tool that are read. */
export interface ForeignSourceMap {
  readonly sources: readonly (string | null)[];
  readonly sourcesContent?: readonly (string | null)[] | null | undefined;
  readonly sourceRoot?: string | null | undefined;
  readonly mappings: string;
}

/** A column of the output, and its place in a source; all from 0. */
export interface MapSegment {
  readonly column: number;
  readonly source: number;
  readonly line: number;
  readonly sourceColumn: number;
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const digitValues: ReadonlyMap<string, number> = new Map(
  Array.from(digits, (digit, value) => [digit, value]),
);

/** Base-64 digits of five bits, the lowest first; the lowest bit of all is the sign. */
function variableLength(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = '';
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}

function numbersOf(text: string): readonly number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of text) {
    const digit = digitValues.get(character) ?? 0;
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** The `mappings` of a source map: each field is relative to the segment before. */
export function encodeMappings(lines: readonly (readonly MapSegment[])[]): string {
  let [source, line, sourceColumn] = [0, 0, 0];
  return lines
    .map((segments) => {
      let column = 0;
      return segments
        .map((segment) => {
          const fields = [
            segment.column - column,
            segment.source - source,
            segment.line - line,
            segment.sourceColumn - sourceColumn,
          ];
          ({ column, source, line, sourceColumn } = segment);
          return fields.map(variableLength).join('');
        })
        .join(',');
    })
    .join(';');
}

/** The segments of each line; those without a source are left out. */
export function decodeMappings(mappings: string): readonly (readonly MapSegment[])[] {
  let [source, line, sourceColumn] = [0, 0, 0];
  return mappings.split(';').map((text) => {
    let column = 0;
    return text.split(',').flatMap((field) => {
      const [columns = 0, sources, lines = 0, sourceColumns = 0] = numbersOf(field);
      column += columns;
      if (sources === undefined) return [];
      source += sources;
      line += lines;
      sourceColumn += sourceColumns;
      return [{ column, source, line, sourceColumn }];
    });
  });
}

/** The map of code that another tool has written, read to find places in its sources. */
export class InputMap {
  readonly #map: ForeignSourceMap;
  readonly #lines: readonly (readonly MapSegment[])[];

  constructor(map: ForeignSourceMap) {
    this.#map = map;
    this.#lines = decodeMappings(map.mappings);
  }

  /** The segment that a place belongs to; undefined for code that no source has. */
  trace(line: number, column: number): MapSegment | undefined {
    return this.#lines[line]?.findLast((segment) => segment.column <= column);
  }

  /** The map from the output of a second tool to the sources of the first. */
  under(map: SourceMap): SourceMap {
    const { sources, sourcesContent, sourceRoot } = this.#map;
    const lines = decodeMappings(map.mappings).map((segments) =>
      segments.flatMap(({ column, line, sourceColumn }) => {
        const traced = this.trace(line, sourceColumn);
        return traced === undefined ? [] : [{ ...traced, column }];
      }),
    );
    const root = sourceRoot ? sourceRoot.replace(/\/?$/, '/') : '';
    return {
      ...map,
      sources: sources.map((source) => root + (source ?? '')),
      sourcesContent: sources.map((_, i) => sourcesContent?.[i] ?? null),
      mappings: encodeMappings(lines),
    };
  }
}
