import { Draft, type Value } from './draft.js';

/*
 * Nests of loops and branches whose rows have sizes that the data decides. Every iteration selects by the same masks,
 * so that rows can be stacked at any depth: programs of statements at random seldom get there.
 */

/** What code at one place is made of: the names of a row and a state. */
interface Place {
  readonly row: string;
  readonly state: string;
}

/** A nest as the text of a function of named values. */
export function writeNest(
  random: () => number,
  params: readonly Value[],
  hasInt64: boolean = true,
): string {
  // prettier-ignore
  return new NestWriter(random, hasInt64).main(params);
}

/** Writes nests as text. They read the masks `q` and `m`, the rows `x` and the number of iterations `limit`. */
class NestWriter extends Draft {
  readonly #hasInt64: boolean;

  /** @param hasInt64 False where calls of int64 are refused. */
  constructor(random: () => number, hasInt64: boolean) {
    super(random);
    this.#hasInt64 = hasInt64;
  }

  /** A function of named values to a number; `s` is the first state, and `w` the first row. */
  main(params: readonly Value[]): string {
    const made = this.#node(1 + this.below(3), { row: 'w', state: 's' });
    const names = params.map(({ name }) => name).join(', ');
    return `function main(${names}) {\n${this.lines.map((line) => `  ${line}\n`).join('')}  return kn.sum(kn.square(${made}));\n}`;
  }

  /** Adds lines that compute a value, and names it. */
  #node(depth: number, at: Place): string {
    if (depth === 0) return this.#curved(this.#selection(at), at);
    const kind = this.below(9);
    if (kind < 3) return this.#foreach(depth, at);
    if (kind < 6) return this.#while(depth, at);
    if (kind < 7) return this.#cond(depth, at);
    if (kind < 8) return this.#push(depth, at);
    return this.#wrapped(depth, at);
  }

  #named(text: string): string {
    const name = this.name();
    this.line(`const ${name} = ${text};`);
    return name;
  }

  /** The lines of a body, and what it makes. */
  #body<R>(fill: () => R): { readonly lines: string[]; readonly made: R } {
    return this.within([], fill);
  }

  /** Elements of a row; as many for each row, or their sum, however many there are. */
  #selection({ row }: Place): string {
    const byMask = `kn.booleanMask(${row}, q)`;
    return this.choices.pick([
      byMask,
      `kn.booleanMask(${byMask}, kn.booleanMask(m, q))`,
      this.#hasInt64 ? `kn.take(${row}, kn.flatten(kn.nonzero(q)), { axis: 0 })` : byMask,
      `kn.concat([kn.mul(${byMask}, kn.booleanMask(kn.square(${row}), q)), kn.booleanMask(${row}, m)])`,
      `kn.sum(kn.exp(kn.booleanMask(${row}, kn.greater(${row}, 0))))`,
      row,
    ]);
  }

  /** Something that is not linear of a value and the state. */
  #curved(value: string, { state }: Place): string {
    return this.#named(this.choices.pick([`kn.exp(kn.mul(${value}, ${state}))`, `kn.tanh(kn.add(${value}, ${state}))`, `kn.mul(${value}, ${state})`, `kn.sigmoid(${value})`])); // prettier-ignore
  }

  /** The next state, of the row or of what the iteration has made. */
  #next({ row, state }: Place, made: string): string {
    return this.choices.pick([`kn.tanh(kn.add(${state}, kn.sum(${row})))`, `kn.add(kn.mul(${state}, 0.5), kn.tanh(kn.sum(${made})))`, `kn.mul(${state}, kn.mean(${row}))`, `kn.add(${state}, 0.125)`, state]); // prettier-ignore
  }

  /** What is taken of a loop: its rows, or a state with a part of them. */
  #taken(rows: string, last: string): string {
    const taken = this.choices.pick([rows, rows, `kn.mul(${rows}, ${last})`, `kn.add(kn.tanh(kn.sum(${rows})), ${last})`]); // prettier-ignore
    return taken === rows ? rows : this.#named(taken);
  }

  #foreach(depth: number, { row, state }: Place): string {
    const inside = { row: this.name('r'), state: this.name('s') };
    const data = this.chance(0.5) ? `kn.mul(x, kn.mean(${row}))` : 'x';
    const { lines, made } = this.#body(() => {
      const value = this.#node(depth - 1, inside);
      return `[${value}, ${this.#next(inside, value)}]`;
    });
    const [rows, last] = [this.name(), this.name()];
    this.block(
      `const [${rows}, ${last}] = kn.foreach((${inside.row}, ${inside.state}) => {`,
      [...lines, `return ${made};`],
      `}, ${data}, ${state}, { ${this.chance(0.3) ? 'reverse: true' : ''} });`,
    );
    return this.#taken(rows, last);
  }

  #while(depth: number, { row, state }: Place): string {
    const [i, inside] = [this.name('i'), { row, state: this.name('s') }];
    const { lines, made } = this.#body(() => {
      const value = this.#node(depth - 1, inside);
      return `[${value}, [kn.add(${i}, 1), ${this.#next(inside, value)}]]`;
    });
    const [rows, last] = [this.name(), this.name()];
    const options = this.choices.pick(['', '', 'maxIterations: 4', 'maxIterations: 4, padded: true']); // prettier-ignore
    this.block(
      `const [${rows}, [, ${last}]] = kn.whileLoop((${i}, ${inside.state}) => kn.less(${i}, limit), (${i}, ${inside.state}) => {`,
      [...lines, `return ${made};`],
      `}, [kn.array(0, { dtype: 'int32' }), ${state}], { ${options} });`,
    );
    return this.#taken(rows, last);
  }

  #cond(depth: number, at: Place): string {
    const name = this.name();
    // Both branches give arrays of one shape.
    const { lines, made } = this.#body(() => this.#node(depth - 1, at));
    const other = this.#body(() => this.#curved(made, at));
    this.block(
      `const ${name} = kn.cond(kn.greater(kn.sum(${at.row}), 0), () => {`,
      [...lines, `return ${made};`],
      '}, () => {',
    );
    for (const line of [...lines, ...other.lines, `return ${other.made};`]) this.line(`  ${line}`);
    this.line('});');
    return name;
  }

  /** Pushes the rows of a value, or the value; the list begins with a zero. */
  #push(depth: number, { row, state }: Place): string {
    const inside = { row: this.name('r'), state: this.name('s') };
    const isEach = this.chance(0.5);
    const { lines, made } = this.#body(() => {
      const value = this.#curved(this.#selection(inside), inside);
      const pushed = isEach ? `kn.reshape(${value}, [-1])` : `kn.sum(${value})`;
      // Some rows are left out, by what is known of them before they are selected from.
      return `[${pushed}, kn.greater(kn.sum(${inside.row}), -0.5), ${this.#next(inside, value)}]`;
    });
    const [rows, last] = [this.name(), this.name()];
    this.block(
      `const [${rows}, ${last}] = kn.push((${inside.row}, ${inside.state}) => {`,
      [...lines, `return ${made};`],
      `}, x, ${state}, kn.mul(${state}, 0), ${isEach});`,
    );
    return this.#node(depth - 1, { row, state: this.#named(`kn.add(${last}, kn.tanh(kn.sum(${rows})))`) }); // prettier-ignore
  }

  /** A body that is checkpointed, captured for itself, or as it is. */
  #wrapped(depth: number, at: Place): string {
    const kind = this.choices.pick(['checkpoint', 'hybridize', null, null]);
    if (kind === null) return this.#node(depth - 1, at);
    const inside = { row: this.name('r'), state: this.name('s') };
    const { lines, made } = this.#body(() => this.#node(depth - 1, inside));
    const name = this.name();
    this.block(
      `const ${name} = kn.${kind}((${inside.row}, ${inside.state}) => {`,
      [...lines, `return ${made};`],
      `})(${at.row}, ${at.state});`,
    );
    return name;
  }
}
