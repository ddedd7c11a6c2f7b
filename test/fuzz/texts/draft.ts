import { Choices } from '../pool.js';

/** A size: a number, or a name of what the data decides. */
export type Dim = number | string;

/** A value that the text at hand may read. */
export interface Value {
  readonly name: string;
  readonly kind: 'float' | 'int' | 'bool';
  readonly dims: readonly Dim[];
  /** How deep the body stands whose iterations decide one of its sizes, each for itself; 0 where none does. */
  readonly own: number;
}

/** The lines of a body in the making, and the values that they may read. */
export class Draft {
  protected readonly choices: Choices;
  protected lines: string[] = [];
  protected scope: Value[] = [];
  /** In how many bodies the lines at hand stand. */
  protected depth = 0;
  #names = 0;
  /** Names that some line reads. */
  readonly #read: Set<string> = new Set();

  constructor(random: () => number) {
    this.choices = new Choices(random);
  }

  protected below(count: number): number {
    return this.choices.below(count);
  }

  protected chance(probability: number): boolean {
    return this.choices.chance(probability);
  }

  protected name(prefix = 'v'): string {
    return `${prefix}${this.#names++}`;
  }

  protected line(line: string): void {
    this.lines.push(line);
  }

  protected let(kind: Value['kind'], dims: readonly Dim[], text: string, own = 0): Value {
    const value = { name: this.name(), kind, dims, own };
    this.line(`const ${value.name} = ${text};`);
    this.scope.push(value);
    return value;
  }

  /** Lines of a body, in which names of the surroundings are known. */
  protected within<R>(
    params: readonly Value[],
    fill: () => R,
  ): { readonly lines: string[]; readonly made: R } {
    // prettier-ignore
    const [lines, scope] = [this.lines, this.scope];
    this.lines = [];
    this.scope = [...scope, ...params];
    this.depth++;
    try {
      const made = fill();
      return { lines: this.lines, made };
    } finally {
      this.lines = lines;
      this.scope = scope;
      this.depth--;
    }
  }

  protected block(head: string, lines: readonly string[], tail: string): void {
    this.line(head);
    for (const line of lines) this.line(`  ${line}`);
    this.line(tail);
  }

  /** A value that is known here, the later the likelier; of those that fit rather one that nothing has read. */
  protected known(fits: (value: Value) => boolean): Value | null {
    const list = this.scope.filter(fits);
    if (list.length === 0) return null;
    const fresh = list.filter(({ name }) => !this.#read.has(name));
    const found = this.choices.late(fresh.length > 0 && this.chance(0.6) ? fresh : list);
    this.#read.add(found.name);
    return found;
  }

  protected float(rank: number, fits: (value: Value) => boolean = () => true): Value | null {
    return this.known((value) => value.kind === 'float' && value.dims.length === rank && fits(value)); // prettier-ignore
  }

  /** The text of a number made of some values, rather of those that nothing has read. */
  protected number(most: number): string {
    const isFloat = ({ kind }: Value): boolean => kind === 'float';
    const count = 1 + this.below(most);
    const values = new Set(Array.from({ length: count }, () => this.known(isFloat)!));
    return [...values]
      .map(({ name, dims }) => (dims.length === 0 ? name : `kn.sum(kn.sin(${name}))`))
      .reduce((a, b) => `kn.add(${a}, ${b})`);
  }

  /** A truth value; it jumps where gradients do not look. */
  protected truth(): string {
    const { name, dims, kind } = this.known((value) => value.kind !== 'bool' || value.dims.length === 0)!; // prettier-ignore
    if (kind === 'bool') return name;
    const number = dims.length === 0 ? name : `kn.sum(${name})`;
    return kind === 'int' ? `kn.less(${number}, ${1 + this.below(3)})` : `kn.greater(${number}, ${[0, 0.3, -0.4][this.below(3)]})`; // prettier-ignore
  }
}

/** One value as it is, several as a list. */
export function listed(values: readonly Value[]): string {
  return bare(values.map(({ name }) => name));
}

export function bare(texts: readonly string[]): string {
  return texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
}

/** True where the trailing axes of one value are those of another. */
export function meets(value: Value, other: Value): boolean {
  const lead = other.dims.length - value.dims.length;
  return lead >= 0 && value.dims.every((dim, axis) => dim === other.dims[lead + axis]);
}

export function cutBy(dim: Dim, rows: number): Dim {
  return typeof dim === 'number' ? Math.max(0, dim - rows) : `${dim}-${rows}`;
}

export function joined(a: Dim, b: Dim): Dim {
  return typeof a === 'number' && typeof b === 'number' ? a + b : `${a}+${b}`;
}
