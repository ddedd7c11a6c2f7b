import { TraceError } from '../../base/errors.js';
import type { FieldChange } from './change.js';
import { IgnoredFields } from './ignored.js';
import { FieldSnapshot } from './snapshot.js';
import type { FieldWatch } from './watch.js';
import type { WeakSnapshot } from './weak.js';

/** Fields found in one run of traced code, and the changed ones. */
export interface FieldsFound {
  /** The values at the start. */
  readonly before: FieldSnapshot;
  readonly changed: readonly FieldChange[];
  /** Paths of fields that side-effect code changed in the middle of the run. */
  readonly byCode: ReadonlySet<string>;
}

/**
 * Guards of the fields that a trace depends on. A trace whose own run has changed some of them serves no
 * other call without rerunning the code, since replays would not change them: until the code is found to make
 * the same graph from the changed values.
 */
export class FieldGuards {
  readonly #ignored: IgnoredFields = new IgnoredFields();
  #snapshot: FieldSnapshot | null = null;
  /** Replaces the snapshot where objects in it were replaced. */
  #weak: WeakSnapshot | null = null;
  /** Paths of fields that the latest run of the code has changed. */
  #changed: readonly string[];
  /** Paths of fields that side-effect code has changed in calls of the trace. */
  readonly #byCode: Set<string>;

  /** @param watch The watch of the run. */
  constructor(found: FieldsFound, watch: FieldWatch | null = null) {
    watch?.noteUnread(this.#ignored);
    this.#byCode = new Set(found.byCode);
    this.#changed = this.#relevant(found.changed).map(({ path }) => path);
    this.#keep(this.#changed.length === 0 ? this.#settled(found) : found.before);
  }

  /** True when calls may be served without running the code. */
  holds(): boolean {
    if (this.#snapshot === null) return this.#revives();
    return this.#changed.length === 0 && this.#snapshot.isCurrent();
  }

  /** Differences to the found values; null when some of the objects are gone. */
  changes(): readonly FieldChange[] | null {
    return this.#alive()?.changes() ?? null;
  }

  /**
   * Releases strong references where an object was replaced, until the values return: the object need not
   * stay alive for a trace that may never serve again.
   */
  releaseReplaced(): void {
    if (this.#snapshot === null) return;
    const isReplaced = ({ from }: FieldChange): boolean =>
      typeof from === 'object' && from !== null;
    if (!this.#snapshot.changes().some(isReplaced)) return;
    this.#weak = this.#snapshot.weakened();
    this.#snapshot = null;
  }

  /** Accepts the values of another run that made the same graph. */
  accept(found: FieldsFound, watch: FieldWatch | null = null): void {
    watch?.noteUnread(this.#ignored);
    const changed = this.#relevant(found.changed);
    const before = this.#alive();
    // Another value that makes the same graph: the next unseen value is assumed to do so as well, until the
    // code is compared again.
    const isHarmless = changed.every(
      ({ path }) => before !== null && !Object.is(before.valueAt(path), found.before.valueAt(path)),
    );
    this.#changed = isHarmless ? [] : changed.map(({ path }) => path);
    this.#keep(isHarmless ? this.#settled(found) : found.before);
  }

  /** Accepts the values of another run that agreed: it may have found other objects. */
  refresh(found: FieldsFound): void {
    this.#keep(this.#settled(found));
  }

  /**
   * Refuses code whose graph depends on fields that it changes itself: another run, which made another graph,
   * found no other difference that could be the reason.
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

  /** Call when side-effect code has run in a call. */
  noteCode(): void {
    // Changes by captured code since would be attributed to the side-effect code.
    if (this.#changed.length > 0 || this.holds()) return;
    for (const { path } of this.changes() ?? []) this.#byCode.add(path);
  }

  /**
   * Refuses fields that side-effect code changes and captured code reads: captured code after it would read
   * their values from before the call.
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

  /** True when the values are again those from before objects were replaced. */
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
