import type { NDArray } from '../front/ndarray.js';
import type { Block } from './block.js';
import { Parameter, parameterOf } from './parameter.js';

/** What a block consists of at a time, as graphs captured from it rely on. */
interface Snapshot {
  /** Every block once, with its properties. */
  readonly parts: readonly Part[];
  /** Equal for equal structures: which block or parameter is where, by identity. */
  readonly key: string;
  readonly paths: ReadonlyMap<Parameter, string>;
  /** For people, by path: `encoder.fc` is `Dense#3`. */
  readonly names: ReadonlyMap<string, string>;
}

interface Part {
  readonly block: Block;
  readonly slots: readonly Slot[];
}

/** A property of a block: a member, a list that may have members, or of no interest. */
interface Slot {
  readonly property: string;
  readonly member: object | null;
  /** For a list, its members by place; null where it has something else. */
  readonly entries: readonly (object | null)[] | null;
}

/** Of so many structures that a block had the numbers are remembered. */
const capacity = 64;

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(member: object): number {
  let identity = identities.get(member);
  if (identity === undefined) identities.set(member, (identity = nextIdentity++));
  return identity;
}

/**
 * The structure of a block, looked at before each call of its graphs. Properties are plain, so there is
 * nobody to tell of a change; but comparing them with those of the last call builds nothing.
 */
export class Structure {
  readonly #root: Block;
  readonly #isBlock: (value: unknown) => value is Block;
  /** Short keys by the structure in full, so that a call does not carry the long ones around. */
  readonly #keys: Map<string, string> = new Map();
  #last: Snapshot | undefined;
  #made = 0;

  constructor(root: Block, isBlock: (value: unknown) => value is Block) {
    this.#root = root;
    this.#isBlock = isBlock;
  }

  /** Differs when a block or parameter was replaced, added or removed, anywhere below. */
  get key(): string {
    return this.#current().key;
  }

  /** Every block and parameter by path, with its kind and identity. */
  get names(): ReadonlyMap<string, string> {
    return this.#current().names;
  }

  /** The path of the parameter that holds an array. */
  nameOf(array: NDArray): string | undefined {
    const parameter = parameterOf(array);
    if (parameter === undefined) return undefined;
    // A trace asks for the path of each of its parameters: not all of them should look at all blocks again.
    return this.#last?.paths.get(parameter) ?? this.#current().paths.get(parameter);
  }

  #current(): Snapshot {
    if (this.#last === undefined || !this.#isCurrent(this.#last)) this.#last = this.#walk();
    return this.#last;
  }

  #isCurrent({ parts }: Snapshot): boolean {
    for (const part of parts) if (!this.#isUnchanged(part)) return false;
    return true;
  }

  #isUnchanged({ block, slots }: Part): boolean {
    const values = block as unknown as Readonly<Record<string, unknown>>;
    let next = 0;
    // Unlike `Object.keys` this makes no list. Properties that a prototype adds only cost a walk.
    for (const property in values) {
      if (next === slots.length) return false;
      const slot = slots[next++];
      if (property !== slot.property) return false;
      const value = values[property];
      if (Array.isArray(value)) {
        if (slot.entries === null || !this.#isSameList(value, slot.entries)) return false;
      } else if (slot.entries !== null || this.#memberIn(value) !== slot.member) return false;
    }
    return next === slots.length;
  }

  #isSameList(list: readonly unknown[], entries: readonly (object | null)[]): boolean {
    if (list.length !== entries.length) return false;
    for (let i = 0; i < list.length; i++) {
      if (this.#memberIn(list[i]) !== entries[i]) return false;
    }
    return true;
  }

  #memberIn(value: unknown): Block | Parameter | null {
    if (typeof value !== 'object') return null;
    return value instanceof Parameter || this.#isBlock(value) ? value : null;
  }

  #walk(): Snapshot {
    const parts: Part[] = [];
    const paths = new Map<Parameter, string>();
    const names = new Map<string, string>();
    const seen = new Set<Block>();
    let text = '';
    const visitMember = (
      member: Block | Parameter | null,
      path: string,
    ): Block | Parameter | null => {
      if (member === null) return null;
      const identity = identityOf(member);
      text += `${path}#${identity};`;
      names.set(path, `${member.constructor.name}#${identity}`);
      if (member instanceof Parameter) {
        if (!paths.has(member)) paths.set(member, path);
      } else if (!seen.has(member)) visit(member, `${path}.`);
      return member;
    };
    const visit = (block: Block, prefix: string): void => {
      seen.add(block);
      const slots: Slot[] = [];
      parts.push({ block, slots });
      for (const [property, value] of Object.entries(block)) {
        const path = `${prefix}${property}`;
        if (Array.isArray(value)) {
          const entries = value.map((entry: unknown, i) =>
            visitMember(this.#memberIn(entry), `${path}.${i}`),
          );
          slots.push({ property, member: null, entries });
        } else {
          slots.push({ property, member: visitMember(this.#memberIn(value), path), entries: null });
        }
      }
    };
    visit(this.#root, '');
    return { parts, key: this.#shortKey(text), paths, names };
  }

  #shortKey(text: string): string {
    let key = this.#keys.get(text);
    if (key === undefined) {
      if (this.#keys.size >= capacity) this.#keys.delete(this.#keys.keys().next().value!);
      this.#keys.set(text, (key = String(this.#made++)));
    }
    return key;
  }
}
