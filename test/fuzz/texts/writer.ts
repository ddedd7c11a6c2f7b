import { bare, cutBy, Draft, joined, listed, meets, type Dim, type Value } from './draft.js';

/*
 * Random programs as text that one can paste: nests of loops and branches over rows, with sizes that the data decides.
 */

/** The number of elements of a row, of which the masks that programs are given have as many. */
export const width = 4;

/** Writes programs. */
export class Writer extends Draft {
  /** Functions of a number and a row, which may be called anywhere. */
  readonly #functions: string[] = [];
  /** True inside of functions that are differentiated on the spot. */
  #isInner = false;

  /** Statements that write state, draw numbers and check conditions may stand here. */
  #hasEffects: boolean;

  /**
   * @param hasEffects Write the state `p`, a row, and `t`, a number, draw random numbers, and check conditions. Default
   * false.
   */
  constructor(random: () => number, hasEffects: boolean = false) {
    super(random);
    this.#hasEffects = hasEffects;
  }

  /** A function of named values to a number, of its lines. */
  main(params: readonly Value[]): string {
    this.scope = [...params];
    const [s, w] = ['s', 'w'].map((name) => params.find((one) => one.name === name)!);
    for (let count = this.below(3); count > 0; count--) this.#function(s, w);
    for (let count = 1 + this.below(5); count > 0; count--) this.#statement();
    this.line(`return ${this.number(8)};`);
    const names = params.map(({ name }) => name).join(', ');
    return `function main(${names}) {\n${this.lines.map((line) => `  ${line}\n`).join('')}}`;
  }

  #statement(): void {
    if (this.#hasEffects && this.chance(0.3)) return this.#effect();
    const flows = [() => this.#foreach(), () => this.#while(), () => this.#cond(), () => this.#push(), () => this.#wrapped()]; // prettier-ignore
    if (this.depth < 3 && this.chance(this.depth === 0 ? 0.6 : 0.35))
      this.choices.pick(flows)(); // prettier-ignore
    else if (this.chance(0.45)) this.#selection();
    else if (this.chance(0.28)) this.#rows();
    else if (this.#functions.length > 0 && this.chance(0.3)) this.#call();
    else if (!this.#isInner && this.chance(0.12)) this.#innerGradient();
    else this.#point();
  }

  /** A statement in which code runs counts. */
  #effect(): void {
    const kind = this.below(8);
    const row = this.float(1, ({ dims }) => dims[0] === width)!;
    const number = this.number(1);
    if (kind === 0) this.let('float', [], 'kn.mul(t, 1)');
    else if (kind === 1) this.let('float', [width], 'kn.mul(p, 1)');
    else if (kind === 2) this.line(`t.assign(kn.add(kn.mul(t, 0.5), kn.tanh(${number})));`);
    else if (kind === 3) this.line(`p.assign(kn.tanh(${row.name}));`);
    else if (kind === 4) this.line(`p.assign(kn.add(kn.mul(p, 0.9), kn.sin(${row.name})));`);
    else if (kind === 5)
      this.let('float', [width], `kn.random.normal([${width}], { dtype: 'float64' })`);
    else if (kind === 6) this.let('float', [], `kn.random.uniform([], { dtype: 'float64' })`);
    else this.line(`kn.check(kn.less(${number}, ${[2, 1, 0.5][this.below(3)]}), 'too much');`);
  }

  /** Statements whose order and number do not matter. */
  #pure<R>(fill: () => R): R {
    const before = this.#hasEffects;
    this.#hasEffects = false;
    try {
      return fill();
    } finally {
      this.#hasEffects = before;
    }
  }

  /** Functions of elements. */
  #point(): void {
    const a = this.float(this.choices.pick([1, 0, 1, 2])) ?? this.float(1)!;
    const b = this.known((value) => value.kind === 'float' && (value.dims.length === 0 || meets(value, a)))!; // prettier-ignore
    const texts = [
      `kn.tanh(${a.name})`,
      `kn.mul(${a.name}, ${b.name})`,
      `kn.add(${a.name}, ${b.name})`,
      `kn.exp(kn.sin(${a.name}))`,
      `kn.sub(kn.sigmoid(${b.name}), ${a.name})`,
      `kn.square(${a.name})`,
      `kn.div(${a.name}, kn.add(kn.square(${b.name}), 1))`,
      `kn.where(kn.greater(${a.name}, 0.1), ${a.name}, ${b.name})`,
      `kn.mul(kn.detach(${b.name}), ${a.name})`,
    ];
    const text = this.choices.pick(texts);
    this.let('float', a.dims, text, Math.max(a.own, b.own));
  }

  /** Elements that the data selects, reductions, and orders. */
  #selection(): void {
    const kind = this.below(15);
    const x = this.float(1)!;
    const own = x.own;
    const mask = this.known((value) => value.kind === 'bool' && value.dims.length === 1 && value.dims[0] === x.dims[0]); // prettier-ignore
    if (kind === 0) this.let('float', [], `kn.sum(${x.name})`);
    else if (kind === 1) this.let('float', [], `kn.prod(kn.tanh(${x.name}))`);
    else if (kind === 2) this.let('float', x.dims, `kn.${this.choices.pick(['cumsum', 'cumprod'])}(${x.name}, 0)`, own); // prettier-ignore
    else if (kind === 3) this.let('float', x.dims, `kn.sort(${x.name})`, own);
    else if (kind === 4) this.let('float', x.dims, `kn.take(${x.name}, kn.argsort(kn.detach(${this.float(1, (one) => one.dims[0] === x.dims[0])!.name})), { axis: 0 })`, own); // prettier-ignore
    else if (kind === 5) this.let('bool', x.dims, `kn.greater(${x.name}, ${[0, 0.4, -5, 5][this.below(4)]})`, own); // prettier-ignore
    else if (kind === 12) this.let('float', x.dims, `kn.softmax(${x.name})`, own);
    else if (kind === 13) this.let('float', x.dims, `kn.cummax(${x.name}, 0)`, own);
    else if (kind === 14) this.#window();
    else if (kind === 10) this.let('int', x.dims, `kn.argsort(kn.detach(${x.name}))`, own);
    else if (kind === 11) {
      const at = this.known((one) => one.kind === 'int' && one.dims.length === 1 && one.dims[0] === x.dims[0]); // prettier-ignore
      const positions = at === null ? `kn.mod(kn.argsort(kn.detach(${x.name})), ${width})` : `kn.mod(${at.name}, ${width})`; // prettier-ignore
      this.let('float', [width], `kn.scatterAdd(w, ${positions}, ${x.name})`, at === null ? own : 0);
    }
    else if (mask === null) this.let('bool', x.dims, `kn.less(${x.name}, 0.2)`, own);
    else if (kind < 9) {
      const text = this.chance(0.3) ? `kn.take(${x.name}, kn.flatten(kn.nonzero(${mask.name})), { axis: 0 })` : `kn.booleanMask(${x.name}, ${mask.name})`; // prettier-ignore
      const isAround = this.scope.indexOf(mask) < this.scope.length && mask.own < this.depth;
      this.let('float', [`#${mask.name}`], text, isAround ? own : Math.max(own, this.depth));
    } else this.let('float', x.dims, `kn.where(${mask.name}, ${x.name}, ${this.float(0)!.name})`, own); // prettier-ignore
  }

  /** A part of a value that begins at a computed position, read or written. */
  #window(): void {
    const isLong = ({ dims }: Value): boolean => typeof dims[0] === 'number' && dims[0] > 1;
    const x = this.known((one) => one.kind === 'float' && isLong(one))!;
    const at = this.known(({ kind, dims }) => kind === 'int' && dims.length === 0);
    const start = at === null ? 1 : at.name;
    const [, ...rest] = x.dims;
    const row = this.float(rest.length, ({ dims }) => dims.join() === rest.join());
    if (row !== null && this.chance(0.5))
      this.let('float', x.dims, `kn.updateSlice(${x.name}, kn.expandDims(${row.name}, 0), ${start}, 0)`, x.own); // prettier-ignore
    else this.let('float', [2, ...rest], `kn.dynamicSlice(${x.name}, ${start}, [2], 0)`, x.own);
  }

  /** Several rows: cut, joined, taken, multiplied. */
  #rows(): void {
    const x = this.float(2) ?? this.float(1)!;
    const [count, ...rest] = x.dims;
    const kind = this.below(9);
    const at = this.known((value) => value.kind === 'int' && value.dims.length === 0);
    const flat = this.float(1)!;
    if (kind === 0) this.let('float', [cutBy(count, 1)], `kn.slice(${x.dims.length === 2 ? `kn.sum(${x.name}, 1)` : x.name}, [1, null])`, x.own); // prettier-ignore
    else if (kind === 1) this.let('float', x.dims, `kn.slice(${x.name}, [null, null, -1])`, x.own);
    else if (kind === 2) this.let('float', [cutBy(count, 1), ...rest], `kn.slice(${x.name}, [null, -1])`, x.own); // prettier-ignore
    else if (kind === 3 && typeof count === 'number' && count > 0 && at !== null) this.let('float', rest, `kn.take(${x.name}, kn.mod(${at.name}, ${count}), { axis: 0 })`, x.own); // prettier-ignore
    else if (kind === 4) this.let('float', [joined(flat.dims[0], flat.dims[0])], `kn.concat([${flat.name}, kn.tanh(${flat.name})])`, flat.own); // prettier-ignore
    else if (kind === 5 && x.dims.length === 2) this.let('float', rest, `kn.sum(${x.name}, 0)`, x.own);
    else if (kind === 8) {
      const other = this.float(x.dims.length, (one) => one.dims.slice(1).join() === rest.join())!;
      this.let('float', [joined(count, other.dims[0]), ...rest], `kn.concat([${x.name}, ${other.name}])`, Math.max(x.own, other.own)); // prettier-ignore
    }
    else if (kind === 6 && rest[0] === width) this.let('float', [count], `kn.matmul(${x.name}, w)`, x.own); // prettier-ignore
    else this.let('float', [flat.dims[0], flat.dims[0]], `kn.mul(kn.expandDims(${flat.name}, 1), ${flat.name})`, flat.own); // prettier-ignore
  }

  #function(s: Value, w: Value): void {
    const name = this.name('f');
    const params = [
      { ...s, name: this.name('a') },
      { ...w, name: this.name('b') },
    ];
    const { lines } = this.#pure(() =>
      this.within(params, () => {
        for (let count = 1 + this.below(3); count > 0; count--) this.#statement();
        this.line(`return ${this.number(3)};`);
      }),
    );
    this.block(`const ${name} = (${params.map((one) => one.name).join(', ')}) => {`, lines, '};'); // prettier-ignore
    this.#functions.push(name);
  }

  #call(): void {
    const a = this.float(0)!;
    const b = this.float(1, ({ dims }) => dims[0] === width)!;
    this.let('float', [], `${this.choices.pick(this.#functions)}(kn.tanh(${a.name}), kn.tanh(${b.name}))`); // prettier-ignore
  }

  /** The gradient of a function of its own. */
  #innerGradient(): void {
    const x = this.float(this.choices.pick([0, 1]))!;
    const param = { ...x, name: this.name('a') };
    this.#isInner = true;
    const { lines } = this.#pure(() =>
      this.within([param], () => {
        for (let count = 1 + this.below(2); count > 0; count--) this.#statement();
        this.line(`return ${this.number(2)};`);
      }),
    );
    this.#isInner = false;
    const isBoth = this.chance(0.5);
    const [value, slope] = [this.name(), this.name()];
    this.block(`const ${isBoth ? `[${value}, ${slope}]` : slope} = kn.${isBoth ? 'valueAndGrad' : 'grad'}((${param.name}) => {`, lines, `})(kn.tanh(${x.name}));`); // prettier-ignore
    if (isBoth) this.scope.push({ name: value, kind: 'float', dims: [], own: 0 });
    this.scope.push({ ...x, name: slope });
  }

  /** A function that is checkpointed, or captured for itself. */
  #wrapped(): void {
    const a = this.float(1)!;
    const param = { ...a, name: this.name('a') };
    const { lines, made } = this.#pure(() =>
      this.within([param], () => {
        for (let count = 1 + this.below(3); count > 0; count--) this.#statement();
        return this.float(1, ({ own }) => own < this.depth)!;
      }),
    );
    const isOpen = typeof made.dims[0] === 'string' && !this.scope.some(({ dims }) => dims.includes(made.dims[0])); // prettier-ignore
    // Where a loop runs it, it would be captured in each iteration.
    const kind = this.depth === 0 ? this.choices.pick(['checkpoint', 'hybridize']) : 'checkpoint';
    const name = this.name();
    this.block(`const ${name} = kn.${kind}((${param.name}) => {`, [...lines, `return ${made.name};`], `})(${a.name});`); // prettier-ignore
    this.scope.push({ ...made, name, dims: isOpen ? [`#${name}`] : made.dims });
  }

  /** Values to begin a loop with, and their names inside. */
  #states(): { readonly inits: Value[]; readonly params: Value[] } {
    const isAt = (value: Value): boolean => value.own <= this.depth;
    const count = 1 + this.below(3);
    const inits = Array.from({ length: count }, (_, k) => this.known((value) => isAt(value) && (k > 0 || value.kind === 'float'))!); // prettier-ignore
    return { inits, params: inits.map((one) => ({ ...one, name: this.name('s') })) };
  }

  /** The text of a state's next value. */
  #next(state: Value): string {
    const { name, kind, dims } = state;
    if (kind === 'int') return this.choices.pick([`kn.add(${name}, 1)`, name]);
    if (kind === 'bool') return dims.length > 0 ? `kn.logicalNot(${name})` : this.choices.pick([`kn.logicalNot(${name})`, name, `kn.greater(${this.float(0)!.name}, 0)`]); // prettier-ignore
    const fits = this.known((value) => value.kind === 'float' && value.dims.join() === dims.join())!; // prettier-ignore
    const other = this.known((value) => value.kind === 'float' && meets(value, state))!;
    return this.choices.pick([name, `kn.tanh(${fits.name})`, `kn.add(kn.tanh(${fits.name}), kn.mul(${name}, 0.5))`, `kn.add(${name}, ${this.number(1)})`, `kn.maximum(${name}, ${fits.name})`, `kn.add(kn.mul(${name}, kn.sigmoid(${other.name})), ${fits.name})`]); // prettier-ignore
  }

  /** What an iteration gives: one or two values. */
  #outputs(): Value[] {
    const fit = (value: Value): boolean => value.kind !== 'bool' && value.dims.length < 2;
    const first = this.known((value) => value.kind === 'float' && fit(value))!;
    return this.chance(0.3) ? [first, this.known(fit)!] : [first];
  }

  #statements(most: number): void {
    for (let count = 1 + this.below(most); count > 0; count--) this.#statement();
  }

  #foreach(): void {
    const first = this.known(({ kind, dims }) => kind === 'float' && dims.length > 0)!;
    const [count] = first.dims;
    const second = this.chance(0.4) ? this.known((one) => one !== first && one.dims.length > 0 && one.dims[0] === count) : null; // prettier-ignore
    const data = second === null ? [first] : [first, second];
    const { inits, params } = this.#states();
    const rows = data.map((one) => ({ ...one, name: this.name('r'), dims: one.dims.slice(1) }));
    const { lines, made } = this.within([...params, ...rows], () => {
      this.#statements(4);
      return { outputs: this.#outputs(), states: params.map((state) => this.#next(state)) };
    });
    const options = [...(this.chance(0.3) ? ['reverse: true'] : []), ...this.#save()];
    const names = made.outputs.map((one) => ({ ...one, name: this.name(), dims: [count, ...this.#outside(one)] })); // prettier-ignore
    const finals = inits.map((one) => ({ ...one, name: this.name() }));
    this.block(
      `const [${listed(names)}, ${listed(finals)}] = kn.foreach((${listed(rows)}, ${listed(params)}) => {`,
      [...lines, `return [${listed(made.outputs)}, ${bare(made.states)}];`],
      `}, ${listed(data)}, ${listed(inits)}, { ${options.join(', ')} });`,
    );
    this.scope.push(...finals, ...names.map((one) => ({ ...one, own: Math.min(one.own, this.depth) }))); // prettier-ignore
  }

  /** The sizes of a value as they are called outside of the body that made it. */
  #outside({ dims }: Value): Dim[] {
    return dims.map((dim) => typeof dim === 'number' || this.scope.some((one) => one.dims.includes(dim)) ? dim : this.name('#')); // prettier-ignore
  }

  #save(): string[] {
    return this.chance(0.4) ? [`save: '${this.choices.pick(['all', 'none', 'auto'])}'`] : [];
  }

  #while(): void {
    const { inits, params } = this.#states();
    const i: Value = { name: this.name('i'), kind: 'int', dims: [], own: 0 };
    const limit = this.choices.pick(['limit', '2', 'limit']);
    const isLimited = this.chance(0.3);
    const padded = isLimited && this.chance(0.5);
    const own = this.choices.pick(['', '', `kn.less(${params[0].dims.length > 0 ? `kn.sum(${params[0].name})` : params[0].name}, 0.8)`]); // prettier-ignore
    const { lines, made } = this.within([...params, i], () => {
      this.#statements(4);
      return { outputs: this.#outputs(), states: params.map((state) => this.#next(state)) };
    });
    const count: Dim = padded ? 4 : this.name('#');
    const names = made.outputs.map((one) => ({ ...one, name: this.name(), dims: [count, ...this.#outside(one)] })); // prettier-ignore
    const finals = inits.map((one) => ({ ...one, name: this.name() }));
    const vars = `${[i, ...params].map(({ name }) => name).join(', ')}`;
    const holds = `kn.less(${i.name}, ${limit})`;
    const options = [...(isLimited ? ['maxIterations: 4'] : []), ...(padded ? ['padded: true'] : []), ...this.#save()]; // prettier-ignore
    this.block(
      `const [${listed(names)}, [, ${finals.map(({ name }) => name).join(', ')}]] = kn.whileLoop((${vars}) => ${own === '' ? holds : `kn.logicalAnd(${holds}, ${own})`}, (${vars}) => {`,
      [
        ...lines,
        `return [${listed(made.outputs)}, [kn.add(${i.name}, 1), ${made.states.join(', ')}]];`,
      ],
      `}, [kn.array(0, { dtype: 'int32' }), ${inits.map(({ name }) => name).join(', ')}], { ${options.join(', ')} });`,
    );
    // As many as other iterations of what is around have, unless states decide.
    const decidedBy = own === '' || padded ? 0 : this.depth;
    this.scope.push(...finals, ...names.map((one) => ({ ...one, own: Math.max(decidedBy, Math.min(one.own, this.depth)) }))); // prettier-ignore
  }

  #cond(): void {
    const predicate = this.truth();
    const first = this.within([], () => {
      this.#statements(3);
      return this.known(({ kind, own }) => kind === 'float' && own < this.depth)!;
    });
    const inside = first.made.dims.some((dim) => typeof dim === 'string' && !this.scope.some((one) => one.dims.includes(dim))); // prettier-ignore
    const dims = inside ? [] : first.made.dims;
    const second = this.within([], () => {
      this.#statements(3);
      return this.known((value) => value.kind === 'float' && value.dims.join() === dims.join());
    });
    // No other value is like that of the first branch: both give numbers.
    const isPlain = inside || second.made === null;
    const text = (value: Value | null): string => isPlain ? `kn.sum(${value === null ? 's' : value.name})` : value!.name; // prettier-ignore
    const name = this.name();
    this.block(
      `const ${name} = kn.cond(${predicate}, () => {`,
      [...first.lines, `return ${text(first.made)};`],
      '}, () => {',
    );
    for (const line of [...second.lines, `return ${text(second.made)};`]) this.line(`  ${line}`);
    this.line('});');
    this.scope.push({ name, kind: 'float', dims: isPlain ? [] : dims, own: isPlain ? 0 : first.made.own }); // prettier-ignore
  }

  #push(): void {
    const data = this.known(({ kind, dims }) => kind === 'float' && dims.length > 0)!;
    const init = this.float(0)!;
    const row = { ...data, name: this.name('r'), dims: data.dims.slice(1) };
    const state = { ...init, name: this.name('s') };
    const isEach = this.chance(0.5);
    const { lines, made } = this.within([state, row], () => {
      this.#statements(3);
      const value = this.float(Number(isEach)) ?? this.float(0)!;
      return `[${value.name}, ${this.truth()}, ${this.#next(state)}]`;
    });
    const [rows, last] = [this.name(), this.name()];
    this.block(`const [${rows}, ${last}] = kn.push((${row.name}, ${state.name}) => {`, [...lines, `return ${made};`], `}, ${data.name}, ${init.name}, kn.mul(s, 0.5), ${isEach});`); // prettier-ignore
    const own = this.depth;
    this.scope.push(
      { ...init, name: last },
      { name: rows, kind: 'float', dims: [`#${rows}`], own },
    );
  }
}
