import { containerOf } from './containers.js';
import { optionalOf } from './optionals.js';
import type { Entry } from './values.js';

/** The variables that a construct changes, as closures over them. */
export interface Variables {
  /** Variables that are read afterwards. */
  readonly merged: readonly Variable[];
  /** Values of the merged ones, then of those that are dropped afterwards. */
  readonly get: () => readonly unknown[];
  readonly set: (values: readonly unknown[]) => void;
  /** Objects that stand for those of them that functions inside write. */
  readonly environments?: (() => readonly (object | null)[]) | undefined;
}

interface Variable {
  readonly name: string;
  readonly isInteger: boolean;
  /** Members of the object that it holds are assigned: the object stays, its members change. */
  readonly isTree: boolean;
}

/** The number of statements around whose paths meet before they go on. */
let meetings = 0;

/** True where paths meet that otherwise go on apart, so that a path gives what is read where they meet. */
export function arePathsMeeting(): boolean {
  return meetings > 0;
}

/** Runs the paths of a statement that meet. */
export function whilePathsMeet<R>(run: () => R): R {
  meetings++;
  try {
    return run();
  } finally {
    meetings--;
  }
}

/**
 * Accessors of variables. A name may be followed by `int` for a counter, `tree` for an object that changes, and
 * `meet` for a variable that is read only where the paths of a statement around meet; these come last.
 */
export function vars(
  merged: readonly string[],
  _local: readonly string[],
  get: () => readonly unknown[],
  set: (values: readonly unknown[]) => void,
  environments?: () => readonly (object | null)[],
): Variables {
  return {
    merged: merged.flatMap((text) => {
      const [name, ...flags] = text.split(' ');
      if (flags.includes('meet') && !arePathsMeeting()) return [];
      return [{ name, isInteger: flags.includes('int'), isTree: flags.includes('tree') }];
    }),
    get,
    set,
    environments,
  };
}

/** Values of variables before a path runs, so that each path starts from them. */
export interface Saved {
  readonly values: readonly unknown[];
  /** The members of objects, deeply. */
  readonly members: readonly (Members | null)[];
  readonly environments: readonly (object | null)[];
}

interface Members {
  readonly object: object;
  readonly entries: readonly (readonly [key: string, value: unknown, members: Members | null])[];
}

export function saveVariables({ merged, get, environments }: Variables): Saved {
  const values = get();
  return {
    values,
    members: merged.map(({ isTree }, i) => (isTree ? membersOf(values[i], new Set()) : null)),
    environments: environments?.() ?? [],
  };
}

function membersOf(value: unknown, seen: Set<unknown>): Members | null {
  const object = containerOf(value);
  if (object === null || seen.has(object)) return null;
  seen.add(object);
  return {
    object,
    entries: Object.entries(object).map(
      ([key, entry]) => [key, entry, membersOf(entry, seen)] as const,
    ),
  };
}

/** Gives variables, and the members of the objects they hold, their values from before. */
export function restore(variables: Variables, { values, members }: Saved): void {
  for (const each of members) if (each !== null) restoreMembers(each);
  variables.set(values);
}

function restoreMembers({ object, entries }: Members): void {
  const target = object as Record<string, unknown>;
  const keys = new Set(entries.map(([key]) => key));
  for (const key of Object.keys(target)) if (!keys.has(key)) delete target[key];
  if (Array.isArray(object)) object.length = entries.length;
  for (const [key, value, inner] of entries) {
    target[key] = value;
    if (inner !== null) restoreMembers(inner);
  }
}

/** The merged variables with their present values. */
export function entriesOf({ merged, get }: Variables): readonly Entry[] {
  const values = get();
  return merged.map(({ name, isInteger }, i) => ({ what: name, value: values[i], isInteger }));
}

/** Gives merged variables new values; the others are as they were before. */
export function assignVariables(
  variables: Variables,
  saved: Saved,
  values: readonly unknown[],
): void {
  restore(variables, saved);
  const next = variables.merged.map(({ isTree }, i) => {
    const old = saved.values[i];
    const [target, source] = [containerOf(old), containerOf(values[i])];
    const isKept = isTree && optionalOf(old) === undefined && optionalOf(values[i]) === undefined;
    if (!isKept || target === null || source === null) return values[i];
    replaceMembers(target, source);
    return old;
  });
  variables.set([...next, ...saved.values.slice(next.length)]);
}

/** Makes an object hold what another one holds; objects inside stay where they can. */
function replaceMembers(target: object, source: object): void {
  const [into, from] = [target as Record<string, unknown>, source as Record<string, unknown>];
  for (const key of Object.keys(into)) if (!Object.hasOwn(from, key)) delete into[key];
  for (const [key, value] of Object.entries(from)) {
    const [old, inner] = [containerOf(into[key]), containerOf(value)];
    const mayLack = optionalOf(into[key]) !== undefined || optionalOf(value) !== undefined;
    if (old !== null && inner !== null && !mayLack) replaceMembers(old, inner);
    else if (into[key] !== value) into[key] = value;
  }
}
