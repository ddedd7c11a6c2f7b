import type { NDArray } from '../front/core/ndarray.js';
import type { Block } from './block.js';
import { Parameter, parameterOf } from './parameter.js';

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(member: object): number {
  let identity = identities.get(member);
  if (identity === undefined) identities.set(member, (identity = nextIdentity++));
  return identity;
}

/** The blocks and parameters below a block by path: for names in graphs, and to report which were replaced. */
export class BlockStructure {
  readonly #root: Block;
  #paths: ReadonlyMap<Parameter, string> | null = null;

  constructor(root: Block) {
    this.#root = root;
  }

  /** Every block and parameter by path, with its class and identity: `encoder.fc` is `Dense#3`. */
  get names(): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    const paths = new Map<Parameter, string>();
    for (const [path, member] of this.#root.descendants()) {
      names.set(path, `${member.constructor.name}#${identityOf(member)}`);
      if (member instanceof Parameter && !paths.has(member)) paths.set(member, path);
    }
    this.#paths = paths;
    return names;
  }

  /** The path of the parameter that holds an array, as of the last read of `names` that included it. */
  nameOf(array: NDArray): string | undefined {
    const parameter = parameterOf(array);
    if (parameter === undefined) return undefined;
    // Cached: a trace asks for the path of each parameter, and should not walk all blocks each time.
    const known = this.#paths?.get(parameter);
    if (known !== undefined) return known;
    void this.names;
    return this.#paths!.get(parameter);
  }
}
