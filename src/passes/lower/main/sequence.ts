import * as e from '../../../loop/language/build.js';
import type { Buffer, Stmt } from '../../../loop/language/nodes.js';
import type { Team } from '../../../loop/language/team.js';

/** The threads that run `main`, and the memory in which they meet. */
export interface MainTeam extends Team {
  readonly meeting: Buffer;
}

/** Statements of `main` in order, some of which only the first thread of a team runs. */
export class Sequence {
  /** Null where there is one thread. */
  readonly team: MainTeam | null;
  readonly #statements: Stmt[] = [];
  /** Statements for the first thread that have not found their branch yet. */
  #waiting: Stmt[] = [];

  constructor(team: MainTeam | null) {
    this.team = team;
  }

  /** All threads run these. */
  everyone(...statements: readonly Stmt[]): void {
    this.#flush();
    this.#statements.push(...statements);
  }

  /** Only the first thread runs these. */
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
