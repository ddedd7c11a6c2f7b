import { describe } from './attribute.js';
import { FormatError, KaonError } from '../errors.js';

/**
 * Reads JSON that may come from anyone: every step checks what is there, a mismatch is a `FormatError`
 * that names the place, and only own properties are ever looked at.
 */
export class JsonReader {
  readonly #value: unknown;
  readonly #place: string;

  constructor(value: unknown, place: string) {
    this.#value = value;
    this.#place = place;
  }

  fail(expected: string): never {
    const value = this.#value;
    const shown = Array.isArray(value) ? 'a list' : describe(value);
    throw new FormatError(`${this.#place} does not read`, {
      expected,
      actual: shown,
    });
  }

  /** Runs a step that may throw; its error then names this place. */
  guard<R>(step: () => R): R {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof KaonError)) throw error;
      throw new FormatError(`${this.#place} does not read: ${error.problem}`, {
        expected: error.expected,
        actual: error.actual,
        cause: error,
      });
    }
  }

  isNull(): boolean {
    return this.#value === null;
  }

  /** The value itself, for callers that check it themselves. */
  raw(): unknown {
    return this.#value;
  }

  string(): string {
    return typeof this.#value === 'string' ? this.#value : this.fail('a string');
  }

  integer(): number {
    return Number.isSafeInteger(this.#value) ? (this.#value as number) : this.fail('an integer');
  }

  /** A whole number that is not negative. */
  natural(): number {
    return this.integer() >= 0 ? this.integer() : this.fail('a whole number of at least 0');
  }

  /** The entries of a list, of this length if one is given. */
  list(length?: number): readonly JsonReader[] {
    const value = this.#value;
    if (!Array.isArray(value)) return this.fail('a list');
    if (length !== undefined && value.length !== length) return this.fail(`a list of ${length}`);
    return value.map((entry, i) => new JsonReader(entry, `${this.#place}[${i}]`));
  }

  field(name: string): JsonReader {
    return this.optional(name) ?? this.fail(`an object with ${name}`);
  }

  /** The field of an object; undefined when it is absent. */
  optional(name: string): JsonReader | undefined {
    const value = this.record();
    if (!Object.hasOwn(value, name)) return undefined;
    return new JsonReader(value[name], `${this.#place}.${name}`);
  }

  record(): Readonly<Record<string, unknown>> {
    const value = this.#value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return this.fail('an object');
    }
    return value as Record<string, unknown>;
  }
}
