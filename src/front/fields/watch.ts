import type { FieldChange } from './change.js';
import type { Slot } from './group.js';
import { IgnoredFields } from './ignored.js';

/** A field that reports reads. */
interface Watched {
  readonly object: object;
  readonly key: PropertyKey;
  readonly enumerable: boolean;
  value: unknown;
  isWritable: boolean;
  isRead: boolean;
}

const watchedBy = new WeakMap<() => unknown, Watched>();
/** True while reads are not reported. */
let isPaused = false;

/** Value of a watched field, by its watching getter. */
export function watchedValue(getter: () => unknown): Pick<Watched, 'value'> | undefined {
  return watchedBy.get(getter);
}

/** Calls `fn` for a purpose of the library: its reads are not reads of the user's code. */
export function unobserved<A, R>(fn: (arg: A) => R, arg: A): R {
  const before = isPaused;
  isPaused = true;
  try {
    return fn(arg);
  } finally {
    isPaused = before;
  }
}

/**
 * Watches which of some fields code reads while it is retraced. They become accessors for that time. Only
 * changed fields are watched: turning each field of each block into an accessor would make engines treat all
 * of them as dictionaries from then on.
 */
export class FieldWatch {
  /** The changed fields, which are watched where possible. */
  readonly changes: readonly FieldChange[];
  readonly #watched: readonly Watched[];

  constructor(changes: readonly FieldChange[]) {
    this.changes = changes;
    const found: Watched[] = [];
    for (const change of changes) {
      const slot = watchableFrom(change);
      if (slot === null) continue;
      const { object } = slot.group;
      const key = slot.key as PropertyKey;
      if (found.some((each) => each.object === object && each.key === key)) continue;
      const { value, writable, enumerable } = Object.getOwnPropertyDescriptor(object, key)!;
      found.push({
        object,
        key,
        enumerable: enumerable === true,
        value: value as unknown,
        isWritable: writable === true,
        isRead: false,
      });
    }
    this.#watched = found;
  }

  /** Runs code while watching. */
  during<R>(fn: () => R): R {
    for (const each of this.#watched) install(each);
    try {
      return fn();
    } finally {
      for (const each of this.#watched) restore(each);
    }
  }

  /** The fields that were not read. */
  unread(): IgnoredFields {
    const unread = new IgnoredFields();
    this.noteUnread(unread);
    return unread;
  }

  /** Adds the fields that were not read. */
  noteUnread(ignored: IgnoredFields): void {
    for (const { object, key, isRead } of this.#watched) if (!isRead) ignored.add(object, key);
  }
}

function install(each: Watched): void {
  const { object, key, enumerable } = each;
  const get = (): unknown => {
    if (!isPaused) each.isRead = true;
    return each.value;
  };
  const set = (value: unknown): void => {
    each.value = value;
  };
  watchedBy.set(get, each);
  const accessors = each.isWritable ? { get, set } : { get };
  Object.defineProperty(object, key, { ...accessors, enumerable, configurable: true });
}

function restore({ object, key, enumerable, value, isWritable }: Watched): void {
  const now = Object.getOwnPropertyDescriptor(object, key);
  // The code may have deleted or redefined it.
  if (now?.get === undefined || !watchedBy.has(now.get)) return;
  Object.defineProperty(object, key, {
    value,
    writable: isWritable,
    enumerable,
    configurable: true,
  });
}

/** The nearest watchable field on the path to a value; reading the value reads that field. */
function watchableFrom(change: Slot): Slot | null {
  for (let slot: Slot | null = change; slot !== null; slot = slot.group.holder) {
    const { group, key } = slot;
    if (group.kind !== 'record' || key === undefined) continue;
    const property = Object.getOwnPropertyDescriptor(group.object, key as PropertyKey);
    if (property?.configurable === true && 'value' in property) return slot;
  }
  return null;
}
