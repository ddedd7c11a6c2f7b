import { isPlainObject } from '../base/attributes/tree.js';
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

/**
 * Finds what is looked for in the value of a property, by path: the value itself, or entries of lists, maps, sets and
 * plain objects, however deep. Keys of maps other than texts and numbers are counted. Contents of what is held twice
 * are found once.
 */
export function* foundIn<M>(
  path: string,
  value: unknown,
  isFound: (value: unknown) => value is M,
  entered: Set<object>,
): IterableIterator<readonly [string, M]> {
  if (isFound(value)) yield [path, value];
  else if (isCollection(value) && !entered.has(value)) {
    entered.add(value);
    for (const [key, entry] of entriesOf(value)) {
      yield* foundIn(`${path}.${key}`, entry, isFound, entered);
    }
  }
}

type Collection =
  readonly unknown[] | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | object;

/** True for what parts of a network may be collected in. */
function isCollection(value: unknown): value is Collection {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) return true;
  return isPlainObject(value);
}

function* entriesOf(value: Collection): IterableIterator<readonly [string | number, unknown]> {
  if (value instanceof Map) {
    let count = 0;
    for (const [key, entry] of value as ReadonlyMap<unknown, unknown>) {
      yield [typeof key === 'string' || typeof key === 'number' ? key : count, entry];
      count++;
    }
  } else if (Array.isArray(value) || value instanceof Set) {
    yield* [...(value as Iterable<unknown>)].entries();
  } else yield* Object.entries(value);
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
