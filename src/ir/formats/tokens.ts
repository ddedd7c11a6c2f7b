import { FormatError } from '../../base/errors.js';

/** Tokenizer of program text that keeps line numbers. */
export class Tokens {
  readonly #text: string;
  /** Sticky: a token, or a comment to the end of its line. */
  readonly #pattern: RegExp =
    /[^\S\n]*(?:(\n)|(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"|[%@]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_]\w*|<=|[^\s\w]))/y;
  #line = 1;
  #word: string | undefined;
  /** Text of the last comment before the current token, if it is on the line of the previous token. */
  #comment: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#advance();
  }

  /** The current token; empty at the end. */
  get word(): string {
    return this.#word ?? '';
  }

  /** Takes the current token. */
  next(): string {
    const word = this.#word;
    if (word === undefined) throw this.error('more');
    this.#advance();
    return word;
  }

  /** Takes the current token if it is this one. */
  accept(word: string): boolean {
    if (this.#word !== word) return false;
    this.#advance();
    return true;
  }

  expect(word: string): void {
    if (!this.accept(word)) throw this.error(JSON.stringify(word));
  }

  /** Takes the comment at the end of the previous token's line. */
  comment(): string | undefined {
    const comment = this.#comment;
    this.#comment = undefined;
    return comment;
  }

  /** Parses an identifier or a quoted string. */
  name(): string {
    if (/^[A-Za-z_]/.test(this.word)) return this.next();
    return this.string();
  }

  string(): string {
    if (!this.word.startsWith('"')) throw this.error('a name or a string');
    try {
      return JSON.parse(this.word) as string;
    } catch {
      throw this.error('a JSON string');
    } finally {
      this.#advance();
    }
  }

  /** The number behind a one-letter sigil: `%12`, `@3`. */
  numbered(sigil: string): number {
    const number = this.word.startsWith(sigil) ? Number(this.word.slice(1)) : NaN;
    if (!Number.isSafeInteger(number) || this.word.length === 1) {
      throw this.error(`${sigil} and a number`);
    }
    this.#advance();
    return number;
  }

  error(expected: string): FormatError {
    return new FormatError(`line ${this.#line} of the program cannot be parsed`, {
      expected,
      actual: this.#word === undefined ? 'the end of the text' : this.#word.slice(0, 80),
    });
  }

  #advance(): void {
    this.#comment = undefined;
    let isSameLine = true;
    for (;;) {
      const match = this.#pattern.exec(this.#text);
      if (match === null) {
        this.#word = undefined;
        return;
      }
      const [, newline, comment, word] = match;
      if (newline !== undefined) {
        this.#line++;
        isSameLine = false;
      } else if (comment !== undefined) {
        if (isSameLine) this.#comment = sourceIn(comment);
      } else {
        this.#word = word;
        return;
      }
    }
  }
}

/** The source line in a comment; notes on groups are ignored. Undefined when there is none. */
function sourceIn(comment: string): string | undefined {
  const said = comment.slice(2).replace(/\[(?:no group|groups? [\d, ]+)\]\s*$/, '');
  return said.trim() || undefined;
}
