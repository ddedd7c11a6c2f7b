import { changesOf, type FieldChange, lengthPath, pathInside, pathOf } from './change.js';
import {
  classesOf,
  type Group,
  groupOf,
  isContainer,
  isSameRecord,
  isUnchanged,
  keyAt,
  type Slot,
} from './group.js';
import { IgnoredFields } from './ignored.js';
import { type Root, type SnapshotParts, WeakSnapshot } from './weak.js';

/** So many values are noted for one trace, those nearest to its objects first. */
const mostValues = 8192;

/** The values of all fields of some objects at one time. */
export class FieldSnapshot {
  readonly #ignored: IgnoredFields;
  readonly #roots: Root[] = [];
  readonly #groups: Group[] = [];
  readonly #seen: Set<object> = new Set();
  #count = 0;

  constructor(ignored: IgnoredFields = new IgnoredFields()) {
    this.#ignored = ignored;
  }

  /** Notes what an object holds now, unless it is known already. `name` begins the paths of its fields. */
  add(object: object, name: string): void {
    if (this.#seen.has(object)) return;
    // The object whose method is captured comes first; others are told by their classes.
    const isFirst = this.#roots.length === 0;
    const kind = name === 'this' && !isFirst ? object.constructor.name : name;
    const taken = this.#roots.filter((root) => root.name === kind).length;
    const path = taken === 0 ? kind : `${kind}#${taken + 1}`;
    this.#roots.push({ object, name: kind });
    // Breadth first, so that what is near is noted where not everything can be.
    const found: Found[] = [{ object, path, holder: null }];
    for (const next of found) this.#note(next, found);
  }

  /** Whether every value is what it was. Asked before each call, so it builds nothing. */
  isCurrent(): boolean {
    const groups = this.#groups;
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i];
      if (!(group.isRecord ? isSameRecord(group) : isUnchanged(group))) return false;
    }
    return true;
  }

  /** The places whose values are others now. */
  changes(): readonly FieldChange[] {
    return this.#groups.flatMap((group) => (isUnchanged(group) ? [] : changesOf(group)));
  }

  /** The value that was noted for a path; undefined for one that was not. */
  valueAt(path: string): unknown {
    for (const group of this.#groups) {
      const at = group.values.findIndex((_, i) => pathOf(group, keyAt(group, i)) === path);
      if (at >= 0) return group.values[at];
      if (path === lengthPath(group)) return group.size;
    }
    return undefined;
  }

  /** The values now, of the same objects. */
  retaken(ignored: IgnoredFields): FieldSnapshot {
    const next = new FieldSnapshot(ignored);
    for (const { object, name } of this.#roots) next.add(object, name);
    return next;
  }

  /** The same without holding on to any object. */
  weakened(): WeakSnapshot {
    return new WeakSnapshot({ roots: this.#roots, groups: this.#groups, ignored: this.#ignored });
  }

  /** @internal The snapshot whose parts these are. */
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
    // What is frozen stays as it is; what it holds need not.
    if (!Object.isFrozen(object) || group.kind === 'map' || group.kind === 'set') {
      this.#groups.push(group);
    }
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
