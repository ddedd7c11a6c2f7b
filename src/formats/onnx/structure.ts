import type { Bounds } from '../../base/dim/index.js';
import { FormatError, named } from '../../base/errors.js';
import { JsonReader } from '../../base/attributes/reader.js';
import { importOp } from './place.js';

/**
 * Structure of a Kaon graph besides its computation, for which ONNX has no field. Stored as JSON in the
 * model's metadata, so that a written graph reads back the same.
 */
export interface GraphStructure {
  /** The graph's reads besides its inputs, in order: initializers of the model. */
  readonly reads: readonly StructuredRead[];
  /** The names of the arrays that a run returns: of the leading outputs, whose names in the model may differ. */
  readonly outputs: readonly string[];
  /** The ranges of the symbols in the sizes of inputs. */
  readonly symbols: ReadonlyMap<string, Bounds>;
}

export interface StructuredRead {
  readonly name: string;
  /** An array (parameters and other state), or the state of the random generator. */
  readonly kind: 'array' | 'random';
  /** The output with its value for the next run; null when it does not change. */
  readonly next: string | null;
  /** Number of random draws; null when only a run decides it. */
  readonly draws: number | null;
}

/** Key of the metadata entry. */
export const structureKey = 'kaon.structure';

const version = 1;

export function structureText({ reads, outputs, symbols }: GraphStructure): string {
  return JSON.stringify({
    version,
    reads: reads.map(({ name, kind, next, draws }) => ({
      name,
      kind,
      ...(next !== null && { next }),
      ...(kind === 'random' && { draws }),
    })),
    outputs,
    symbols: Object.fromEntries(
      [...symbols].map(([name, { min, max }]) => [name, [min, Number.isFinite(max) ? max : null]]),
    ),
  });
}

/**
 * Parses the text of `structureText`.
 * @throws FormatError for other text.
 */
export function structureFrom(text: string): GraphStructure {
  try {
    const root = new JsonReader(parsed(text), `metadata ${structureKey}`);
    if (root.field('version').integer() !== version) root.field('version').fail(String(version));
    return {
      reads: root.field('reads').list().map(readFrom),
      outputs: root
        .field('outputs')
        .list()
        .map((name) => name.string()),
      symbols: symbolsFrom(root),
    };
  } catch (error) {
    throw named(error, importOp);
  }
}

function readFrom(json: JsonReader): StructuredRead {
  const kind = json.field('kind').string();
  if (kind !== 'array' && kind !== 'random') return json.field('kind').fail('array or random');
  const draws = json.optional('draws');
  return {
    name: json.field('name').string(),
    kind,
    next: json.optional('next')?.string() ?? null,
    draws: draws === undefined || draws.isNull() ? null : draws.integer(),
  };
}

function symbolsFrom(root: JsonReader): ReadonlyMap<string, Bounds> {
  const symbols = root.field('symbols');
  return new Map(
    Object.keys(symbols.record()).map((name): [string, Bounds] => {
      const [min, max] = symbols.field(name).list(2);
      const bounds = { min: min.integer(), max: max.isNull() ? Infinity : max.integer() };
      if (bounds.min < 0 || bounds.max < bounds.min) symbols.field(name).fail('a range of sizes');
      return [name, bounds];
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FormatError(`metadata ${structureKey} is not JSON`, { op: importOp, cause });
  }
}
