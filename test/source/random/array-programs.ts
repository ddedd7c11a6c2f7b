import { RandomChoices } from './choices.js';

/*
 * Random programs about numbers that may be arrays: written with methods of arrays, so that they run on
 * arrays and on plain numbers with the same methods.
 */

interface Scope {
  readonly arrays: readonly string[];
  /** Variables that are numbers in the source. */
  readonly counters: readonly string[];
  readonly flags: readonly string[];
  readonly loops: readonly string[];
  readonly blocks: readonly string[];
  /** The number of loops around. */
  readonly depth: number;
}

/** Statements and operators that programs have besides. Default none. */
export interface ProgramOptions {
  /** Statements that throw and check. */
  readonly refuses?: boolean;
  /** Pushes to the lists `l` and `m`. */
  readonly pushes?: boolean;
  /** An object `o`, which has another name, a method and functions that change it. */
  readonly objects?: boolean;
  /** Variables `z` and `w.z` that may be null. */
  readonly absences?: boolean;
  /** Functions that are not linear, with derivatives of every order. */
  readonly curves?: boolean;
}

const anObject = `const o = { h: b.mul(0.25), k: [a], n: 0, grow(v) { this.h = this.h.add(v).mul(0.5); } };
const other = o;
const set = (object, v) => { object.h = v; };
const change = () => { o.k[0] = o.k[0].mul(-0.75); };
`;

export class ArrayProgramWriter extends RandomChoices {
  readonly #options: ProgramOptions;
  #size = 0;

  constructor(seed: number, options: ProgramOptions = {}) {
    super(seed * 7919);
    this.#options = options;
  }

  /** The declaration of a function `main(a, b, rows, demand, total)`. */
  write(): string {
    const { objects = false, pushes = false, absences = false } = this.#options;
    const scope: Scope = {
      arrays: ['a', 'b', 'x', ...(objects ? ['o.h', 'o.k[0]'] : [])],
      counters: ['n', ...(objects ? ['o.n'] : [])],
      flags: ['f'],
      loops: [],
      blocks: [],
      depth: 0,
    };
    const body = this.#block(scope, 0, 6);
    const absent = absences ? 'let z = null; const w = { z: null };\n' : '';
    const found = absences ? '.add((z ?? b).mul(0.5)).add(w.z?.k ?? a)' : '';
    const lists = pushes ? 'const l = [a], m = [b, a];\n' : '';
    const totals = pushes ? '.add(total(l)).sub(total(m))' : '';
    const members = objects ? '.add(o.h).sub(o.k[0]).add(o.n)' : '';
    return `function main(a, b, rows, demand, total) {\n'use graph';\nlet x = a.mul(0.5), n = 0, f = false;\n${lists}${absent}${objects ? anObject : ''}${body}\nreturn a.add(b.mul(3)).add(x).add(n).add(f ? 0.25 : 0.125)${totals}${members}${found};\n}`;
  }

  #block(enclosing: Scope, depth: number, most: number): string {
    const lines: string[] = [];
    let scope = enclosing;
    const count = 1 + this.below(most);
    for (let i = 0; i < count && this.#size < 28; i++) {
      this.#size++;
      if (this.chance(0.15)) {
        const name = this.name('y');
        lines.push(`let ${name} = ${this.#array(scope, 2)};`);
        scope = { ...scope, arrays: [...scope.arrays, name] };
      } else lines.push(this.#statement(scope, depth));
    }
    return lines.join('\n');
  }

  #statement(scope: Scope, depth: number): string {
    if (depth > 2 || this.chance(0.45)) return this.#simple(scope, depth);
    const inner = (changes: Partial<Scope> = {}): string =>
      `{\n${this.#block({ ...scope, ...changes }, depth + 1, 3)}\n}`;
    switch (this.below(8)) {
      case 0:
      case 1:
      case 2:
        return `if (${this.#test(scope, 2)}) ${inner()}${this.chance(0.5) ? ` else ${inner()}` : ''}`;
      case 3: {
        const [c, label] = [this.name('c'), this.name('L')];
        const body = inner({ depth: scope.depth + 1, loops: [...scope.loops, label] });
        const test = this.chance(0.5) ? ` && ${this.#test(scope, 1)}` : '';
        if (this.chance(0.4)) {
          const exits = `if (${c}.greaterEqual(3)) ${this.#leaving(scope, label)}\n${this.#exits(scope, label)}`;
          return `let ${c} = a.mul(0);\n${label}: while (true) {\n${exits}${c} = ${c}.add(1);\n${body}\n}`;
        }
        const exits = this.#exits(scope, label);
        return `let ${c} = a.mul(0);\n${label}: while (${c}.less(3)${test}) {\n${exits}${c} = ${c}.add(1);\n${body}\n}`;
      }
      case 4: {
        const c = this.name('c');
        const exits = this.#exits(scope);
        return `let ${c} = a.mul(0);\ndo {\n${exits}${c} = ${c}.add(1);\n${inner({ depth: scope.depth + 1 })}\n} while (${c}.less(2));`;
      }
      case 5: {
        const [i, label] = [this.name('i'), this.name('L')];
        const body = inner({ depth: scope.depth + 1, loops: [...scope.loops, label] });
        const [exits, most] = [this.#exits(scope, label), this.name('most')];
        const limit = this.pick(['3', most, `${most} - 1`]);
        return `const ${most} = 3;\n${label}: for (let ${i} = 0; ${i} < ${limit}; ${i}++) {\n${exits}x = x.add(${i} * 2);\n${body}\n}`;
      }
      case 6: {
        const r = this.name('r');
        const body = inner({ depth: scope.depth + 1, arrays: [...scope.arrays] });
        return `for (const ${r} of rows(${this.#array(scope, 1)}, ${this.#array(scope, 1)})) {\nx = x.add(${r});\n${body}\n}`;
      }
      default: {
        const label = this.name('B');
        return `${label}: ${inner({ blocks: [...scope.blocks, label] })}`;
      }
    }
  }

  /** Statements at the start of a loop's body that may leave it. */
  #exits(scope: Scope, label?: string): string {
    if (this.chance(0.4)) return '';
    const q = this.name('q');
    const declares = this.chance(0.4);
    const inside = declares ? { ...scope, arrays: [...scope.arrays, q] } : scope;
    const exit = (): string => `if (${this.#test(inside, 1)}) ${this.#leaving(inside, label)}\n`;
    const before = declares ? `const ${q} = ${this.#array(scope, 1)};\n` : '';
    return `${before}${exit()}${this.chance(0.3) ? exit() : ''}`;
  }

  /** A statement that leaves the innermost loop. */
  #leaving(scope: Scope, label?: string): string {
    const jumps = [
      'break;',
      'break;',
      ...[...scope.loops, ...(label === undefined ? [] : [label])].map((each) => `break ${each};`),
      `return ${this.#array(scope, 1)};`,
    ];
    return this.chance(0.3) ? `{ x = ${this.#array(scope, 1)}; ${this.pick(jumps)} }` : this.pick(jumps); // prettier-ignore
  }

  /** A statement that refuses some values. */
  #refusal(scope: Scope): string {
    const name = this.name('refusal ');
    if (this.chance(0.4)) return `demand(${this.#array(scope, 1)}.less(${this.pick(['0.8', '2', '3'])}), '${name}');`; // prettier-ignore
    const thrown = `throw new ${this.pick(['RangeError', 'TypeError'])}('${name}');`;
    const test = `${this.#array(scope, 1)}.greaterEqual(${this.pick(['0.4', '1.2', '2.5'])})`;
    return this.chance(0.5)
      ? `if (${test}) ${thrown}`
      : `if (${test}) { if (${this.#test(scope, 1)}) ${thrown} x = x.add(0.5); } else x = x.sub(0.25);`;
  }

  /** A statement about variables that may be null. */
  #absence(scope: Scope): string {
    const array = (): string => this.#array(scope, 1);
    const statement = this.pick([
      `z = ${array()};`,
      `z = ${array()};`,
      'z = null;',
      `z ??= ${array()};`,
      `w.z = { k: ${array()} };`,
      'w.z = null;',
      `w.z ??= { k: ${array()} };`,
      `if (z === null) { x = ${array()}; } else x = z.add(1).mul(0.5);`,
      `if (z !== null && z.less(${array()})) x = x.sub(z).mul(0.5);`,
      `if (w.z === null || w.z.k.less(${array()})) w.z = { k: ${array()} };`,
      `if (w.z) x = w.z.k.sub(1); else z = ${array()};`,
      `x = x.add(w.z?.k.mul(0.5) ?? z ?? 1).mul(0.5);`,
      `x = (z == null ? ${array()} : z);`,
    ]);
    return this.chance(0.3) ? `if (${this.#test(scope, 1)}) { ${statement} }` : statement;
  }

  /** A statement that changes the object. */
  #change(scope: Scope): string {
    const value = this.#array(scope, 1);
    const statement = this.pick([
      `other.k[0] = ${value};`,
      `set(o, ${value});`,
      `set(other, ${value});`,
      `o.grow(${value});`,
      `other.h = ${value};`,
      'change();',
      'o.n++;',
      'other.n -= 2;',
    ]);
    return this.chance(0.3) ? `if (${this.#test(scope, 1)}) ${statement}` : statement;
  }

  #simple(scope: Scope, depth: number): string {
    if (this.#options.objects && this.chance(0.35)) return this.#change(scope);
    if (this.#options.absences && this.chance(0.35)) return this.#absence(scope);
    if (this.#options.pushes && this.chance(0.3)) {
      const push = `${this.pick(['l', 'l', 'm'])}.push(${this.#array(scope, 1)}${this.chance(0.2) ? ', x' : ''});`;
      return this.chance(0.3) ? `if (${this.#test(scope, 1)}) ${push}` : push;
    }
    if (this.#options.refuses && this.chance(0.5)) return this.#refusal(scope);
    const jumps = [
      ...(scope.depth > 0 ? ['break;', 'continue;'] : []),
      ...scope.loops.flatMap((label) => [`break ${label};`, `continue ${label};`]),
      ...scope.blocks.map((label) => `break ${label};`),
      ...(depth > 0 && this.chance(0.4) ? [`return ${this.#array(scope, 2)};`] : []),
    ];
    switch (this.below(9)) {
      case 0:
      case 1:
        return jumps.length > 0 && depth > 0
          ? `if (${this.#test(scope, 1)}) ${this.pick(jumps)}`
          : `x = x.add(1);`;
      case 2:
        return this.pick([`n++;`, `n += 2;`, `n--;`]);
      case 3:
        return `f = ${this.#test(scope, 1)};`;
      case 4:
        return `if (${this.#test(scope, 1)}) f = !f;`;
      case 5:
        return `[a, x] = [x, a];`;
      default:
        return `${this.pick(scope.arrays)} = ${this.#array(scope, 2)};`;
    }
  }

  #array(scope: Scope, depth: number): string {
    if (depth === 0 || this.chance(0.2)) return this.pick(scope.arrays);
    const inside = (): string => this.#array(scope, depth - 1);
    if (this.#options.curves && this.chance(0.4)) return this.#curve(inside);
    switch (this.below(6)) {
      case 0:
        return `${inside()}.add(${inside()}).mul(0.5)`;
      case 1:
        return `${inside()}.sub(${inside()}).mul(0.5)`;
      case 2:
        return `${inside()}.mul(-0.75)`;
      case 3:
        return `${inside()}.mul(0.5).add(${this.pick(scope.counters)})`;
      case 4:
        return `(${this.#test(scope, depth - 1)} ? ${inside()} : ${inside()})`;
      default:
        return `${inside()}.add(${this.pick(['1', '-2', 'n * 0.5 - 1'])})`;
    }
  }

  /** A smooth function that grows no faster than its operands. */
  #curve(inside: () => string): string {
    switch (this.below(5)) {
      case 0:
        return `${inside()}.mul(${inside()}.tanh())`;
      case 1:
        return `${inside()}.div(${inside()}.sin().add(2))`;
      case 2:
        return `${inside()}.tanh().exp()`;
      case 3:
        return `${inside()}.mul(${inside()}).mul(0.25).tanh()`;
      default:
        return `${inside()}.sin()`;
    }
  }

  #test(scope: Scope, depth: number): string {
    const compare = (): string =>
      `${this.#array(scope, 1)}.${this.pick(['less', 'greaterEqual'])}(${this.pick(['0', '1.3', this.pick(scope.arrays)])})`;
    if (depth === 0) return compare();
    switch (this.below(8)) {
      case 0:
        return `(${compare()} && ${this.#test(scope, depth - 1)})`;
      case 1:
        return `(${this.#test(scope, depth - 1)} || ${compare()})`;
      case 2:
        return `!${compare()}`;
      case 3:
        return this.pick(scope.flags);
      case 4:
        return `n ${this.pick(['<', '>=', '==='])} ${this.below(4)}`;
      default:
        return compare();
    }
  }
}
