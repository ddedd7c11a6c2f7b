import { TraceError } from '../../base/errors.js';
import type { FieldChange } from './change.js';
import { IgnoredFields } from './ignored.js';
import { FieldSnapshot } from './snapshot.js';
import type { FieldWatch } from './watch.js';
import type { WeakSnapshot } from './weak.js';

/** What one run of traced code found in the fields of objects, and which of them it changed. */
export interface FieldsFound {
  /** The values that it found. */
  readonly before: FieldSnapshot;
  readonly changed: readonly FieldChange[];
  /** Paths of what side-effect code in the middle of the run changed. */
  readonly byCode: ReadonlySet<string>;
}

/**
 * The fields that a trace relies on. A trace whose own run has changed some of them serves no other call
 * without running the code again, since replays would not change them: until it turns out that the code
 * makes the same graph from the changed values.
 */
export class FieldGuards {
  readonly #ignored: IgnoredFields = new IgnoredFields();
  #snapshot: FieldSnapshot | null = null;
  /** In its place where objects in it were replaced. */
  #weak: WeakSnapshot | null = null;
  /** Paths of what the latest run of the code has changed. */
  #changed: readonly string[];
  /** Paths of what side-effect code has changed in calls of the trace. */
  readonly #byCode: Set<string>;

  /** @param watch What watched the run. */
  constructor(found: FieldsFound, watch: FieldWatch | null = null) {
    watch?.noteUnread(this.#ignored);
    this.#byCode = new Set(found.byCode);
    this.#changed = this.#relevant(found.changed).map(({ path }) => path);
    this.#keep(this.#changed.length === 0 ? this.#settled(found) : found.before);
  }

  /** Whether calls may be served without running the code. */
  holds(): boolean {
    if (this.#snapshot === null) return this.#revives();
    return this.#changed.length === 0 && this.#snapshot.isCurrent();
  }

  /** What differs from the values that were found; null when some of the objects are gone. */
  changes(): readonly FieldChange[] | null {
    return this.#alive()?.changes() ?? null;
  }

  /**
   * Holds on to no object from here on where one was replaced, until the values are these again: it need not
   * stay alive because of a trace that may never serve any more.
   */
  releaseReplaced(): void {
    if (this.#snapshot === null) return;
    const isReplaced = ({ from }: FieldChange): boolean =>
      typeof from === 'object' && from !== null;
    if (!this.#snapshot.changes().some(isReplaced)) return;
    this.#weak = this.#snapshot.weakened();
    this.#snapshot = null;
  }

  /** Takes over what another run found that made the same graph. */
  accept(found: FieldsFound, watch: FieldWatch | null = null): void {
    watch?.noteUnread(this.#ignored);
    const changed = this.#relevant(found.changed);
    const before = this.#alive();
    // Another value that makes the same graph: then the next one, which no call has seen, is taken to make it
    // as well, until the code is compared again.
    const isHarmless = changed.every(
      ({ path }) => before !== null && !Object.is(before.valueAt(path), found.before.valueAt(path)),
    );
    this.#changed = isHarmless ? [] : changed.map(({ path }) => path);
    this.#keep(isHarmless ? this.#settled(found) : found.before);
  }

  /** Takes over what another run found that agreed at the same values: it may have come to other objects. */
  refresh(found: FieldsFound): void {
    this.#keep(this.#settled(found));
  }

  /**
   * Refuses code whose graph depends on fields that it changes itself: another run, which made another graph,
   * found no other difference. With one, that may be the reason.
   * @throws TraceError
   */
  refuseOwnChanges(found: FieldsFound, watch: FieldWatch, op: string): void {
    const unread = watch.unread();
    const isOwn = ({ path }: FieldChange): boolean => this.#changed.includes(path);
    const isRead = (change: FieldChange): boolean => !unread.covers(change);
    const own = this.#relevant(found.changed).filter((change) => isOwn(change) && isRead(change));
    if (own.length === 0) return;
    if (watch.changes.some((change) => !isOwn(change) && isRead(change))) return;
    const [{ path, expected, actual }] = own;
    throw new TraceError(`captured code depends on ${path}, which it changes at each call`, {
      op,
      expected: 'fields that captured code reads to be changed outside of it',
      actual: `${path}: ${expected} -> ${actual}`,
      advice: `keep ${path} in an array and assign to it, which happens at each call; or change it outside and pass it as an argument`,
    });
  }

  /** To be called when side-effect code has run in a call. */
  noteCode(): void {
    // What captured code itself has changed since would seem to be changed by the side-effect code.
    if (this.#changed.length > 0 || this.holds()) return;
    for (const { path } of this.changes() ?? []) this.#byCode.add(path);
  }

  /**
   * Refuses fields that side-effect code changes and captured code reads: what comes after the code would read
   * them as they were before the call.
   * @throws TraceError
   */
  refuseChangesByCode(watch: FieldWatch): void {
    const unread = watch.unread();
    const change = watch.changes.find(
      (each) => this.#byCode.has(each.path) && !unread.covers(each),
    );
    if (change === undefined) return;
    const { path, expected, actual } = change;
    throw new TraceError(`side-effect code changes ${path}, which captured code reads`, {
      op: 'staticCode',
      expected: 'fields that captured code reads to be changed outside of it',
      actual: `${path}: ${expected} -> ${actual}`,
      advice: 'return what follows needs from the side-effect code, as an array',
    });
  }

  #relevant(changes: readonly FieldChange[]): readonly FieldChange[] {
    return changes.filter((change) => !this.#ignored.covers(change));
  }

  #settled({ before }: FieldsFound): FieldSnapshot {
    return before.retaken(this.#ignored);
  }

  #alive(): FieldSnapshot | null {
    if (this.#snapshot !== null) return this.#snapshot;
    const parts = this.#weak?.revived() ?? null;
    return parts && FieldSnapshot.of(parts);
  }

  /** Whether the values are again what they were before objects were replaced. */
  #revives(): boolean {
    const snapshot = this.#alive();
    if (snapshot === null || this.#changed.length > 0 || !snapshot.isCurrent()) return false;
    this.#keep(snapshot);
    return true;
  }

  #keep(snapshot: FieldSnapshot): void {
    this.#snapshot = snapshot;
    this.#weak = null;
  }
}
