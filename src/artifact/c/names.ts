const keywords: ReadonlySet<string> = new Set(
  (
    'auto break case char const continue default do double else enum extern float for goto if inline int ' +
    'long register restrict return short signed sizeof static struct switch typedef union unsigned void ' +
    'volatile while'
  ).split(' '),
);

/** Names that C accepts, each different, close to those that are asked for. */
export class Identifiers {
  readonly #taken: Set<string>;

  /** None of them is a keyword, nor one of `reserved`. */
  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set([...keywords, ...reserved]);
  }

  of(name: string): string {
    const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
    const wanted = /^[A-Za-z]/.test(plain) ? plain : `x${plain}`;
    let free = wanted;
    for (let count = 2; this.#taken.has(free); count++) free = `${wanted}_${count}`;
    this.#taken.add(free);
    return free;
  }
}
