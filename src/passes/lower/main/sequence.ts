import * as e from '../../../loop/language/build.js';
import type { Buffer, Stmt } from '../../../loop/language/nodes.js';
import type { Team } from '../../../loop/language/team.js';

/** The threads that run `main`, and the memory of their barrier. */
export interface MainTeam extends Team {
  readonly meeting: Buffer;
}

/** Statements of `main` in order, some of which only the first thread of a team runs. */
export class Sequence {
  /** Null for one thread. */
  readonly team: MainTeam | null;
  readonly #statements: Stmt[] = [];
  /** Pending statements of the first thread, not yet in a branch. */
  #waiting: Stmt[] = [];

  constructor(team: MainTeam | null) {
    this.team = team;
  }

  /** Appends statements of all threads. */
  everyone(...statements: readonly Stmt[]): void {
    this.#flush();
    this.#statements.push(...statements);
  }

  /** Appends statements of the first thread only. */
  first(...statements: readonly Stmt[]): void {
    if (this.team === null) this.#statements.push(...statements);
    else this.#waiting.push(...statements);
  }

  meet(): void {
    if (this.team === null) return;
    const { meeting, index, count } = this.team;
    this.everyone(e.barrier(meeting, index, count));
  }

  get statements(): readonly Stmt[] {
    this.#flush();
    return this.#statements;
  }

  #flush(): void {
    if (this.team === null || this.#waiting.length === 0) return;
    this.#statements.push(e.ifThen(e.eq(this.team.index, 0), e.block(...this.#waiting)));
    this.#waiting = [];
  }
}
