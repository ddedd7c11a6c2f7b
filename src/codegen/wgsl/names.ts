/** Names of a shader, each given once. */
export class ShaderNames {
  readonly #taken: Set<string> = new Set();

  /** A name like the wanted one. */
  fresh(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#taken.has(name); count++) name = `${wanted}${count}`;
    this.#taken.add(name);
    return name;
  }

  /**
   * A name for what has one in the loop IR, which may contain a size such as `2*n`. It ends in an underscore, as words of
   * WGSL and names of helpers do not.
   */
  identifier(of: string, behind: string = ''): string {
    const plain = of.replace(/[^A-Za-z0-9_]/g, '_').replace(/^_+/, '');
    return this.fresh(`${/^[A-Za-z]/.test(plain) ? '' : 'x'}${plain}_${behind}`);
  }
}
