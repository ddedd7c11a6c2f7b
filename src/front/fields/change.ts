import { describe } from '../../base/attributes/attribute.js';
import { typeToString } from '../../ir/program.js';
import { NDArray } from '../core/ndarray.js';
import { type FieldGroup, groupOf, isObject, type Slot, unguarded } from './group.js';
import { IgnoredFields } from './ignored.js';

/** A field whose value has changed. */
export interface FieldChange extends Slot {
  /** `this.k`, `layers.1.k`. */
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
  /** Both values as text. */
  readonly expected: string;
  readonly actual: string;
}

/** Value of a missing field. */
const absent: unique symbol = Symbol('absent');

export function changesOf(group: FieldGroup): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  const add = (key: unknown, path: string, from: unknown, to: unknown): void => {
    if (from === unguarded || Object.is(from, to)) return;
    const [expected, actual] = describeBoth(from, to);
    changes.push({ group, key, path, from, to, expected, actual });
  };
  const now = groupOf(group.object, group.path, group.holder, new IgnoredFields())!;
  if (group.kind === 'record' || group.kind === 'map') {
    const before = new Map(group.keys.map((key, i) => [key, group.values[i]]));
    const after = new Map(now.keys.map((key, i) => [key, now.values[i]]));
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const [from, to] = [before, after].map((each) => (each.has(key) ? each.get(key) : absent));
      add(key, pathOf(group, key), from, to === unguarded ? absent : to);
    }
  } else {
    const count = Math.min(group.values.length, now.values.length);
    for (let i = 0; i < count; i++) add(i, pathOf(group, i), group.values[i], now.values[i]);
  }
  if (group.kind !== 'record') add('length', lengthPath(group), group.size, now.size);
  // Only the order of keys has changed.
  if (changes.length === 0) {
    const [expected, actual] = [group, now].map(({ keys }) => keys.map(String).join(', '));
    const path = `the order of ${group.path}`;
    changes.push({ group, key: undefined, path, from: group, to: now, expected, actual });
  }
  return changes;
}

export function lengthPath({ kind, path }: FieldGroup): string {
  return `${path}.${kind === 'list' ? 'length' : 'size'}`;
}

/** `this.k`, `layers.1.k`, `table.get("a")`. */
export function pathOf({ kind, path }: FieldGroup, key: unknown): string {
  if (kind === 'map')
    return `${path}.get(${typeof key === 'string' ? JSON.stringify(key) : String(describe(key))})`;
  if (typeof key === 'number') return `${path}.${key}`;
  if (typeof key === 'symbol') return `${path}[${String(key)}]`;
  return /^[\w$]+$/.test(String(key))
    ? `${path}.${String(key)}`
    : `${path}[${JSON.stringify(key)}]`;
}

/** The path of a field's value: below `this`, paths are those of parameters. */
export function pathInside(group: FieldGroup, key: unknown): string {
  const path = pathOf(group, key);
  return group.holder === null ? path.replace(/^this\./, '') : path;
}

function describeBoth(from: unknown, to: unknown): readonly [string, string] {
  const [before, after] = [describeField(from), describeField(to)];
  return [before, before === after ? `another: ${after}` : after];
}

function describeField(value: unknown): string {
  if (value === absent) return 'nothing';
  if (value instanceof NDArray) return `an array ${typeToString(value.type)}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (!isObject(value)) return typeof value === 'bigint' ? `${value}n` : String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const owner: unknown = (value as { readonly constructor?: unknown }).constructor;
  return typeof owner === 'function' && owner !== Object ? owner.name : 'an object';
}
