import { changesOf, type FieldChange, lengthPath, pathInside, pathOf } from './change.js';
import {
  classesOf,
  type FieldGroup,
  groupOf,
  isContainer,
  isSameRecord,
  isUnchanged,
  keyAt,
  type Slot,
} from './group.js';
import { IgnoredFields } from './ignored.js';
import { holdsOutside } from './outside.js';
import { type Root, type SnapshotParts, WeakSnapshot } from './weak.js';

/** Limit of values in one snapshot; those nearest to its roots are preferred. */
const mostValues = 8192;

/** The values of all fields of some objects at one time. */
export class FieldSnapshot {
  readonly #ignored: IgnoredFields;
  readonly #roots: Root[] = [];
  readonly #groups: FieldGroup[] = [];
  readonly #seen: Set<object> = new Set();
  #count = 0;

  constructor(ignored: IgnoredFields = new IgnoredFields()) {
    this.#ignored = ignored;
  }

  /** Records the fields of an object, unless known already. `name` is the prefix of their paths. */
  add(object: object, name: string): void {
    if (this.#seen.has(object)) return;
    // The object whose method is captured comes first; others are named by their classes.
    const isFirst = this.#roots.length === 0;
    const kind = name === 'this' && !isFirst ? object.constructor.name : name;
    const taken = this.#roots.filter((root) => root.name === kind).length;
    const path = taken === 0 ? kind : `${kind}#${taken + 1}`;
    this.#roots.push({ object, name: kind });
    // Breadth first, so that near values are recorded when not all can be.
    const found: Found[] = [{ object, path, holder: null }];
    for (const next of found) this.#note(next, found);
  }

  /** True when every value is unchanged. Called before each call, so it allocates nothing. */
  isCurrent(): boolean {
    const groups = this.#groups;
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i];
      if (!(group.isRecord ? isSameRecord(group) : isUnchanged(group))) return false;
    }
    return true;
  }

  /** The fields whose values have changed. */
  changes(): readonly FieldChange[] {
    return this.#groups.flatMap((group) => (isUnchanged(group) ? [] : changesOf(group)));
  }

  /** The recorded value of a path; undefined for an unknown one. */
  valueAt(path: string): unknown {
    for (const group of this.#groups) {
      const at = group.values.findIndex((_, i) => pathOf(group, keyAt(group, i)) === path);
      if (at >= 0) return group.values[at];
      if (path === lengthPath(group)) return group.size;
    }
    return undefined;
  }

  /** The current values of the same objects. */
  retaken(ignored: IgnoredFields): FieldSnapshot {
    const next = new FieldSnapshot(ignored);
    for (const { object, name } of this.#roots) next.add(object, name);
    return next;
  }

  /** The same snapshot with weak references. */
  weakened(): WeakSnapshot {
    return new WeakSnapshot({ roots: this.#roots, groups: this.#groups, ignored: this.#ignored });
  }

  /** @internal The snapshot with these parts. */
  static of({ roots, groups, ignored }: SnapshotParts): FieldSnapshot {
    const snapshot = new FieldSnapshot(ignored);
    snapshot.#roots.push(...roots);
    snapshot.#groups.push(...groups);
    for (const { object } of groups) snapshot.#seen.add(object);
    return snapshot;
  }

  #note({ object, path, holder }: Found, found: Found[]): void {
    if (this.#seen.has(object) || this.#count > mostValues) return;
    this.#seen.add(object);
    const group = groupOf(object, path, holder, this.#ignored);
    if (group === null) return;
    this.#count += group.values.length;
    // A frozen object cannot change; the objects in it can.
    if (!Object.isFrozen(object) || group.kind === 'map' || group.kind === 'set') {
      this.#groups.push(group);
    }
    if (holdsOutside(object)) return;
    group.values.forEach((value, i) => {
      if (!isContainer(value)) return;
      const key = keyAt(group, i);
      found.push({ object: value, path: pathInside(group, key), holder: { group, key } });
    });
    if (group.kind === 'record') {
      for (const owner of classesOf(object)) {
        found.push({ object: owner, path: owner.name || 'class', holder: null });
      }
    }
  }
}

interface Found {
  readonly object: object;
  readonly path: string;
  readonly holder: Slot | null;
}
