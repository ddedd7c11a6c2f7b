/** Names of a shader, each given once. */
export class ShaderNames {
  readonly #taken: Set<string> = new Set();
  /** The last number that was put behind a name. */
  readonly #counts: Map<string, number> = new Map();

  /** A name like the wanted one. */
  fresh(wanted: string): string {
    let name = wanted;
    let count = this.#counts.get(wanted) ?? 0;
    while (this.#taken.has(name)) name = `${wanted}${++count}`;
    this.#counts.set(wanted, count);
    this.#taken.add(name);
    return name;
  }

  /**
   * A name for what has one in the loop IR, which may contain a size such as `2*n`. It ends in an underscore, as words of
   * WGSL and names of helpers do not. Numbers in names are those of a program's nodes: without them, equal kernels of
   * different programs are one shader, which is compiled once.
   */
  identifier(of: string, behind: string = ''): string {
    const plain = of
      .replace(/\d+/g, '')
      .replace(/[^A-Za-z_]/g, '_')
      .replace(/^_+/, '');
    return this.fresh(`${/^[A-Za-z]/.test(plain) ? '' : 'x'}${plain}_${behind}`);
  }
}
