import { RandomChoices } from './choices.js';

/*
 * Random programs of JavaScript that work on host values: nested statements of every kind, with jumps,
 * closures, exceptions, generators and classes. They tell what they do by `log`, and every loop ends.
 */

interface Scope {
  /** Variables that may be assigned. */
  readonly variables: readonly string[];
  /** Constants beside them. */
  readonly constants: readonly string[];
  /** Labels of loops around, and of blocks. */
  readonly loops: readonly string[];
  readonly blocks: readonly string[];
  readonly isInLoop: boolean;
  readonly isInSwitch: boolean;
  readonly isGenerator: boolean;
}

export class ProgramWriter extends RandomChoices {
  #size = 0;

  /** A program: the declaration of a function `main(log, p, q)`. */
  write(): string {
    const scope: Scope = {
      variables: ['p', 'q'],
      constants: [],
      loops: [],
      blocks: [],
      isInLoop: false,
      isInSwitch: false,
      isGenerator: false,
    };
    const body = this.#block(scope, 0, 7);
    return `function main(log, p, q) {\n'use graph'\n${body}\n}`;
  }

  /** Statements, the declarations of which the later ones see. */
  #block(enclosing: Scope, depth: number, most: number): string {
    const lines: string[] = [];
    let scope = enclosing;
    const count = 1 + this.below(most);
    for (let i = 0; i < count && this.#size < 120; i++) {
      this.#size++;
      const [text, next] = this.#statement(scope, depth);
      // Some statements are ended by their lines alone.
      lines.push(text);
      scope = next;
    }
    return lines.join('\n');
  }

  #statement(scope: Scope, depth: number): [string, Scope] {
    const same = (text: string): [string, Scope] => [text, scope];
    if (this.chance(0.22)) return this.#declaration(scope);
    if (depth > 3 || this.chance(0.3)) return same(this.#simple(scope));
    const inner = (changes: Partial<Scope> = {}): string =>
      `{\n${this.#block({ ...scope, ...changes }, depth + 1, 4)}\n}`;
    switch (this.below(15)) {
      case 0:
      case 1: {
        const otherwise = this.chance(0.5) ? ` else ${inner()}` : '';
        return same(`if (${this.#expression(scope, 2)}) ${inner()}${otherwise}`);
      }
      case 2:
        return same(
          `if (${this.#expression(scope, 2)}) ${this.#simple(scope)}\nelse ${this.#simple(scope)}`,
        );
      case 3: {
        const [n, label] = [this.name('n'), this.name('L')];
        const body = inner({ isInLoop: true, loops: [...scope.loops, label] });
        const test = this.chance(0.5) ? ` && ${this.#expression(scope, 1)}` : '';
        return same(`let ${n} = 0\n${label}: while (${n}++ < 3${test}) ${body}`);
      }
      case 4: {
        const n = this.name('n');
        const body = inner({ isInLoop: true });
        return same(`let ${n} = 0\ndo ${body} while (${n}++ < 2 && ${this.#expression(scope, 1)})`);
      }
      case 5: {
        const [i, label] = [this.name('i'), this.name('L')];
        const body = inner({
          isInLoop: true,
          loops: [...scope.loops, label],
          constants: [...scope.constants, i],
        });
        const keep = this.chance(0.3) ? `fs.push(() => ${i} + 1);` : '';
        const kind = this.chance(0.8) ? 'let' : 'var';
        const fs = keep === '' ? '' : 'const fs = [];\n';
        const after = keep === '' ? '' : `\nfor (const f of fs) log('f', f());`;
        return same(
          `{\n${fs}${label}: for (${kind} ${i} = 0; ${i} < 3; ${i}++) {\n${keep}\n${body}\n}${after}\n}`,
        );
      }
      case 6: {
        const [v, label] = [this.name('v'), this.name('L')];
        const over = this.pick([
          `[1, ${this.#expression(scope, 1)}, 3]`,
          `(function* () { try { yield 1; log('y'); yield ${this.#expression({ ...scope, isGenerator: true }, 1)}; } finally { log('closed'); } })()`,
          `new Set([4, 5])`,
          `'ab'`,
        ]);
        const body = inner({
          isInLoop: true,
          loops: [...scope.loops, label],
          variables: [...scope.variables, v],
        });
        return same(`${label}: for (let ${v} of ${over}) ${body}`);
      }
      case 7: {
        const k = this.name('k');
        const body = inner({ isInLoop: true, constants: [...scope.constants, k] });
        return same(`for (const ${k} in { a: 1, b: 2 }) ${body}`);
      }
      case 8: {
        const label = this.name('B');
        return same(`${label}: ${inner({ blocks: [...scope.blocks, label] })}`);
      }
      case 9: {
        const inside = { ...scope, isInSwitch: true };
        const cases = Array.from({ length: 1 + this.below(3) }, () => {
          const body = this.#block(inside, depth + 1, 2).replaceAll(
            /^(let|const|class|function)\b/gm,
            'var',
          );
          const isWhole = !/^var (\w+ \{|\w+\()/m.test(body);
          const end = this.chance(0.5) ? '\nbreak' : '';
          const text = isWhole && !/^var/m.test(body) ? body : `log('case')`;
          return `case ${this.#expression(scope, 1)}:\n${text}${end}`;
        });
        if (this.chance(0.6))
          cases.splice(this.below(cases.length + 1), 0, `default:\n${this.#simple(inside)}`);
        return same(`switch (${this.#expression(scope, 1)}) {\n${cases.join('\n')}\n}`);
      }
      case 10: {
        const handler = this.chance(0.8)
          ? ` catch (e) {\nlog('caught', String(e))\n${this.#block(scope, depth + 1, 2)}\n}`
          : '';
        const final =
          handler === '' || this.chance(0.4)
            ? ` finally {\n${this.#block(scope, depth + 1, 2)}\n}`
            : '';
        return same(`try ${inner()}${handler}${final}`);
      }
      case 11:
        return same(inner());
      case 12: {
        const f = this.name('g');
        const body = this.#block(
          {
            ...scope,
            loops: [],
            blocks: [],
            isInLoop: false,
            isInSwitch: false,
            isGenerator: true,
          },
          depth + 1,
          3,
        );
        return same(
          `{\nconst ${f} = function* (x) {\n${body}\nyield x\n${this.chance(0.5) ? `if (x) yield* [x, 2]` : ''}\n};\nfor (const y of ${f}(${this.#expression(scope, 1)})) { log('g', y); if (y === 2) break }\n}`,
        );
      }
      case 13:
        return same(
          `try {\n${this.pick([`throw new Error('e' + ${this.#expression(scope, 1)})`, `log(later); let later = 1`, `null.x`])}\n} catch (e) { log(e.name) }`,
        );
      default: {
        const f = this.name('h');
        const x = this.name('x');
        const body = this.#block(
          {
            ...scope,
            variables: [...scope.variables, x],
            loops: [],
            blocks: [],
            isInLoop: false,
            isInSwitch: false,
            isGenerator: false,
          },
          depth + 1,
          3,
        );
        return same(
          this.chance(0.5)
            ? `{\nlog(${f}(1), ${f}(0));\nfunction ${f}(${x}, ...rest) {\n${body}\nreturn ${x} + arguments.length\n}\n}`
            : `{\nconst ${f} = (${x} = ${this.#expression(scope, 1)}) => {\n${body}\nreturn ${x}\n};\nlog(${f}(), ${f}(2))\n}`,
        );
      }
    }
  }

  #declaration(scope: Scope): [string, Scope] {
    const a = this.name('a');
    const b = this.name('a');
    const value = this.#expression(scope, 2);
    switch (this.below(6)) {
      case 0:
        return [`const ${a} = ${value}`, { ...scope, constants: [...scope.constants, a] }];
      case 1:
        return [
          `let { x: ${a} = ${value}, ...${b} } = { y: ${this.#expression(scope, 1)} }`,
          {
            ...scope,
            variables: [...scope.variables, a],
            constants: [...scope.constants, `${b}.y`],
          },
        ];
      case 2:
        return [
          `let [${a}, ${b} = ${value}] = [${this.#expression(scope, 1)}]`,
          { ...scope, variables: [...scope.variables, a, b] },
        ];
      case 3:
        return [
          `class ${a} { #n = ${value}; static s = 1; get n() { return this.#n ? log('n', this.#n) : 2 } m(z) { if (z) { this.#n += 1; return this.#n } return this.n && z } }\nconst ${b} = new ${a}()`,
          { ...scope, constants: [...scope.constants, `${b}.n`, `${b}.m(1)`, `${a}.s`] },
        ];
      case 4:
        return [
          `const ${a} = { v: ${value}, get w() { return log('w', this.v) } }`,
          {
            ...scope,
            variables: [...scope.variables, `${a}.v`],
            constants: [...scope.constants, `${a}.w`],
          },
        ];
      default:
        return [`let ${a} = ${value}`, { ...scope, variables: [...scope.variables, a] }];
    }
  }

  #simple(scope: Scope): string {
    const variable = this.pick(scope.variables);
    const value = this.#expression(scope, 2);
    const jumps: string[] = [];
    if (scope.isInLoop) jumps.push('break', 'continue');
    if (scope.isInSwitch) jumps.push('break');
    for (const label of scope.loops) jumps.push(`break ${label}`, `continue ${label}`);
    for (const label of scope.blocks) jumps.push(`break ${label}`);
    switch (this.below(10)) {
      case 0:
        return `${variable} = ${value}`;
      case 1:
        return `${variable} ${this.pick(['+=', '-=', '*=', '||=', '&&=', '??='])} ${value}`;
      case 2:
        return this.pick([`${variable}++`, `--${variable}`, `log(${variable}++)`]);
      case 3:
        return this.chance(0.3) ? `return ${value}` : `log(${value})`;
      case 4:
      case 5:
        return jumps.length > 0 ? this.pick(jumps) : `log('s', ${value})`;
      case 6:
        return scope.isGenerator ? `yield ${value}` : `log(${value})`;
      case 7:
        return `log('z', ${value}) && (${variable} = ${this.#expression(scope, 1)})`;
      case 8:
        return this.chance(0.2)
          ? `throw new Error(String(${value}))`
          : `log(${variable}, this === undefined)`;
      default:
        return `log(${value}, ${this.#expression(scope, 2)})`;
    }
  }

  #expression(scope: Scope, depth: number): string {
    const all = [...scope.variables, ...scope.constants];
    if (depth === 0 || this.chance(0.25)) {
      return this.chance(0.7)
        ? this.pick(all)
        : this.pick(['0', '1', '2', `'s'`, 'null', 'true', '3n > 2n']);
    }
    const inside = (): string => this.#expression(scope, depth - 1);
    switch (this.below(13)) {
      case 0:
        return `(${inside()} && ${inside()})`;
      case 1:
        return `(${inside()} || ${inside()})`;
      case 2:
        return `(${inside()} ?? ${inside()})`;
      case 3:
        return `(${inside()} ? ${inside()} : ${inside()})`;
      case 4:
        return `!${inside()}`;
      case 5:
        return `(${inside()} ${this.pick(['+', '-', '*', '<', '>=', '===', '!==', '%', '=='])} ${inside()})`;
      case 6:
        return `log('e', ${inside()})`;
      case 7:
        return `(${this.pick(scope.variables)} = ${inside()})`;
      case 8:
        return `-${this.pick(all)}`;
      case 9:
        return `[${inside()}, ...[${inside()}]].length`;
      case 10:
        return `(() => ${inside()})()`.replaceAll('yield', 'void');
      case 11:
        return `${this.pick(scope.variables)}?.[${inside()}]`;
      default:
        return `\`t\${${inside()}}\``;
    }
  }
}
