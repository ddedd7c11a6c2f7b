import type { Slot } from './group.js';

/** Fields that captured code was observed not to read. Held weakly by their objects. */
export class IgnoredFields {
  readonly #keys: WeakMap<object, Set<unknown>> = new WeakMap();

  add(object: object, key: unknown): void {
    const keys = this.#keys.get(object);
    if (keys === undefined) this.#keys.set(object, new Set([key]));
    else keys.add(key);
  }

  has(object: object, key: unknown): boolean {
    return this.#keys.get(object)?.has(key) === true;
  }

  /** True when a field or one that leads to it is ignored. */
  covers(slot: Slot): boolean {
    for (let at: Slot | null = slot; at !== null; at = at.group.holder) {
      if (this.has(at.group.object, at.key)) return true;
    }
    return false;
  }
}
