import {
  type Bounds,
  type Dim,
  isStatic,
  parseDim,
  elementCount,
  symbol,
  symbolsOf,
} from '../../base/dim/index.js';
import { GraphError, UnsupportedError } from '../../base/errors.js';
import type { Shape } from '../../ir/types.js';
import type { ElementType } from './elements.js';
import { damagedFile, importOp, safeInteger, quotedName } from './place.js';
import type { TensorShapeProto, TypeProto, ValueInfoProto } from './proto/onnx_pb.js';
import { elementFor } from './tensor.js';

/** The type that a graph declares for an input. */
export type DeclaredType =
  | {
      readonly kind: 'tensor';
      readonly element: ElementType;
      readonly shape: TensorShapeProto | null;
    }
  | { readonly kind: 'sequence'; readonly of: DeclaredType }
  | { readonly kind: 'optional'; readonly of: DeclaredType };

/**
 * The type of an input that an operator reads.
 * @throws UnsupportedError for maps, sparse and opaque types.
 */
export function declaredType({ name, type }: ValueInfoProto, reader: string | null): DeclaredType {
  return typeOf(type, `input ${quotedName(name)}${reader === null ? '' : ` of ${reader}`}`);
}

function typeOf(type: TypeProto | undefined, what: string): DeclaredType {
  const { case: kind, value } = type?.value ?? { case: undefined, value: undefined };
  switch (kind) {
    case 'tensorType':
      return {
        kind: 'tensor',
        element: elementFor(value.elemType, what),
        shape: value.shape ?? null,
      };
    case 'sequenceType':
      return { kind: 'sequence', of: typeOf(value.elemType, what) };
    case 'optionalType':
      return { kind: 'optional', of: typeOf(value.elemType, what) };
    case undefined:
      throw damagedFile(`${what} has no type`);
    default:
      throw new UnsupportedError(`${what} is neither a tensor nor a sequence of them`, {
        op: importOp,
        actual: kind,
      });
  }
}

/** Turns the named and unnamed sizes of a model into dimensions. */
export class Dimensions {
  readonly #taken: Set<string> = new Set();
  readonly #names: Map<string, Dim> = new Map();
  readonly #known: ReadonlyMap<string, Bounds> | null;

  /** @param known The ranges of symbols, for size names that are expressions of these. */
  constructor(known: ReadonlyMap<string, Bounds> | null = null) {
    this.#known = known;
    for (const name of known?.keys() ?? []) this.#taken.add(name);
  }

  /** The dimension of a size name: a symbol of that name, if it is a valid one. */
  named(name: string): Dim {
    let dim = this.#names.get(name);
    if (dim === undefined)
      this.#names.set(name, (dim = this.#expression(name) ?? this.#symbol(name)));
    return dim;
  }

  /** The dimension that a text denotes; null for a plain name. */
  #expression(text: string): Dim | null {
    if (this.#known === null) return null;
    try {
      const dim = parseDim(text, this.#known);
      return [...symbolsOf(dim)].every((name) => this.#known!.has(name)) ? dim : null;
    } catch (error) {
      // Other tools use size names that do not parse as dimensions.
      if (error instanceof GraphError) return null;
      throw error;
    }
  }

  fresh(): Dim {
    return this.#symbol('size');
  }

  #symbol(hint: string): Dim {
    let stem = hint.replace(/[^A-Za-z0-9_]/g, '_').slice(0, 60);
    // Names of functions in dimension expressions are not valid symbols.
    if (!/^[A-Za-z_]/.test(stem) || /^(floorDiv|mod|max|min)$/.test(stem)) stem = `_${stem}`;
    let name = stem;
    for (let count = 2; this.#taken.has(name); count++) name = `${stem}_${count}`;
    this.#taken.add(name);
    return symbol(name);
  }

  /** The sizes that a model declares. */
  shapeOf(shape: TensorShapeProto, what: string): Shape {
    const sizes = shape.dim.map(({ value }): Dim => {
      if (value.case === 'dimParam')
        return value.value === '' ? this.fresh() : this.named(value.value);
      if (value.case !== 'dimValue') return this.fresh();
      const size = safeInteger(value.value, `a size of ${what}`);
      if (size < 0)
        throw damagedFile(`a size of ${what} is negative`, 'sizes of 0 or more', String(size));
      return size;
    });
    const count = elementCount(sizes.filter(isStatic));
    if (!Number.isSafeInteger(count)) throw damagedFile(`${what} has too many elements`);
    return sizes;
  }
}
