import { currentSource } from '../../base/errors.js';
import { type Require, type Requirement, requireOrKeep } from '../../ir/requirement.js';
import { isRootCall } from '../../ops/declare/facets.js';
import { type Enclosed, outward } from '../capture/chain.js';
import { currentSerial, type Origin, type Session } from './history.js';
import type { NDArray } from './ndarray.js';

/** Record of captured calls, dead ones included: requirements, checks and participation in recordings. */
export class CallLog implements Enclosed<CallLog> {
  readonly parent: CallLog | null;
  /** Requirements on sizes, with the serials of the calls. */
  readonly requirements: { readonly serial: number; readonly requirement: Requirement }[] = [];
  /** States conditions of captured calls. */
  readonly require: Require = requireOrKeep((requirement) => {
    const { source = currentSource() } = requirement;
    const serial = currentSerial();
    this.requirements.push({ serial, requirement: { ...requirement, source } });
  });

  /** Calls that may refuse elements, and loops and branches with such calls. */
  readonly checked: Origin[] = [];
  /** Arrays that recorded calls have read: they take part in recordings of the replays. */
  readonly touched: Set<NDArray> = new Set();
  /** The recordings that captured calls took part in. */
  readonly sessions: Set<Session> = new Set();
  /** Every call in order, for captures that run while they are made; null for others. */
  all: Origin[] | null = null;
  /** Number of calls of side-effect code. */
  cuts = 0;

  constructor(parent: CallLog | null) {
    this.parent = parent;
  }

  add(origin: Origin): void {
    this.all?.push(origin);
    const { declaration, regions } = origin;
    if (declaration.check !== undefined || isRootCall(declaration, regions)) {
      this.checked.push(origin);
    }
  }

  /** Notes the calls so far. @returns A function that removes later ones, and returns one that puts these back. */
  moment(): () => () => void {
    const lists: readonly unknown[][] = [this.requirements, this.checked, this.all ?? []];
    const lengths = lists.map(({ length }) => length);
    return () => {
      const removed = lists.map((list, i) => list.splice(lengths[i]));
      return () => lists.forEach((list, i) => list.splice(lengths[i], Infinity, ...removed[i]));
    };
  }

  /** Records that a recorded call reads an array, for enclosing captures as well. */
  touch(array: NDArray, session: Session): void {
    outward<CallLog>(this, ({ touched, sessions }) => {
      touched.add(array);
      sessions.add(session);
    });
  }
}
