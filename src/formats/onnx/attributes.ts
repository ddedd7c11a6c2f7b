import { damagedFile, illFormedGraph, safeInteger, quotedName } from './place.js';
import type { AttributeProto, GraphProto, TensorProto } from './proto/onnx_pb.js';

/** The kinds of `AttributeProto.type`. */
const kinds = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
  strings: 8,
  sparseTensor: 11,
  type: 13,
} as const;

/** The attributes of one node by name; references to attributes of an enclosing function are resolved. */
export class AttributeList {
  readonly #byName: Map<string, AttributeProto> = new Map();
  readonly #place: string;

  /** @param outer The attributes that a function's body refers to. */
  constructor(
    attributes: readonly AttributeProto[],
    place: string,
    outer: AttributeList | null = null,
  ) {
    this.#place = place;
    for (const attribute of attributes) {
      const { name, refAttrName } = attribute;
      if (this.#byName.has(name))
        throw illFormedGraph(`${place} has two attributes ${quotedName(name)}`);
      const actual = refAttrName === '' ? attribute : outer?.find(refAttrName);
      if (actual !== undefined) this.#byName.set(name, actual);
    }
  }

  find(name: string): AttributeProto | undefined {
    return this.#byName.get(name);
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  get all(): ReadonlyMap<string, AttributeProto> {
    return this.#byName;
  }

  #of(name: string, kind: keyof typeof kinds): AttributeProto | undefined {
    const found = this.#byName.get(name);
    // Files of the first version of the format omit the kind.
    if (found === undefined || found.type === (kinds[kind] as number) || Number(found.type) === 0) {
      return found;
    }
    throw damagedFile(
      `attribute ${name} of ${this.#place} is of another kind`,
      kind,
      `kind ${found.type}`,
    );
  }

  int<D>(name: string, otherwise: D): number | D {
    const found = this.#of(name, 'int');
    return found === undefined ? otherwise : safeInteger(found.i, `attribute ${name}`);
  }

  flag(name: string, otherwise: boolean = false): boolean {
    return this.int(name, Number(otherwise)) !== 0;
  }

  float<D>(name: string, otherwise: D): number | D {
    return this.#of(name, 'float')?.f ?? otherwise;
  }

  string<D>(name: string, otherwise: D): string | D {
    const found = this.#of(name, 'string');
    return found === undefined ? otherwise : new TextDecoder().decode(found.s);
  }

  ints<D>(name: string, otherwise: D): readonly number[] | D {
    const found = this.#of(name, 'ints');
    return found === undefined ? otherwise : found.ints.map((i) => safeInteger(i, `attribute ${name}`)); // prettier-ignore
  }

  floats<D>(name: string, otherwise: D): readonly number[] | D {
    return this.#of(name, 'floats')?.floats ?? otherwise;
  }

  strings<D>(name: string, otherwise: D): readonly string[] | D {
    const found = this.#of(name, 'strings');
    return found === undefined ? otherwise : found.strings.map((s) => new TextDecoder().decode(s));
  }

  tensor(name: string): TensorProto | undefined {
    return this.#of(name, 'tensor')?.t;
  }

  graph(name: string): GraphProto {
    const found = this.#of(name, 'graph')?.g;
    if (found === undefined) throw damagedFile(`${this.#place} has no graph ${name}`);
    return found;
  }
}
