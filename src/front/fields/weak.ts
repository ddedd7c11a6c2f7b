import { type FieldGroup, isObject } from './group.js';
import type { IgnoredFields } from './ignored.js';

/** A root object of a snapshot, with its name. */
export interface Root {
  readonly object: object;
  readonly name: string;
}

/** Parts of a snapshot. */
export interface SnapshotParts {
  readonly roots: readonly Root[];
  readonly groups: readonly FieldGroup[];
  readonly ignored: IgnoredFields;
}

/** A snapshot with weak references, for when its objects may have been replaced. */
export class WeakSnapshot {
  readonly #ignored: IgnoredFields;
  readonly #roots: readonly { readonly object: WeakRef<object>; readonly name: string }[];
  readonly #groups: readonly (Omit<FieldGroup, 'object' | 'keys' | 'values' | 'holder'> & {
    readonly object: WeakRef<object>;
    readonly keys: readonly unknown[];
    readonly values: readonly unknown[];
    readonly holder: { readonly group: number; readonly key: unknown } | null;
  })[];

  constructor({ roots, groups, ignored }: SnapshotParts) {
    this.#ignored = ignored;
    this.#roots = roots.map(({ object, name }) => ({ object: new WeakRef(object), name }));
    this.#groups = groups.map(({ object, keys, values, holder, ...rest }) => ({
      ...rest,
      object: new WeakRef(object),
      keys: keys.map(weak),
      values: values.map(weak),
      holder: holder && { group: groups.indexOf(holder.group), key: weak(holder.key) },
    }));
  }

  /** The parts of the snapshot; null when an object in it is gone. */
  revived(): SnapshotParts | null {
    const roots: Root[] = [];
    for (const { object, name } of this.#roots) {
      const alive = object.deref();
      if (alive === undefined) return null;
      roots.push({ object: alive, name });
    }
    const groups: FieldGroup[] = [];
    for (const { object, keys, values, holder, ...rest } of this.#groups) {
      const alive = object.deref();
      if (alive === undefined || [...keys, ...values].some(isGone)) return null;
      groups.push({
        ...rest,
        object: alive,
        keys: keys.map(strong),
        values: values.map(strong),
        holder:
          holder && holder.group >= 0
            ? { group: groups[holder.group], key: strong(holder.key) }
            : null,
      });
    }
    return { roots, groups, ignored: this.#ignored };
  }
}

function weak(value: unknown): unknown {
  return isObject(value) ? new WeakRef(value) : value;
}

function strong(value: unknown): unknown {
  return value instanceof WeakRef ? value.deref() : value;
}

function isGone(value: unknown): boolean {
  return value instanceof WeakRef && value.deref() === undefined;
}
