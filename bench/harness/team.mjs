// The processes of the contestants: started when a row first needs them, asked once what they offer.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ContestantProcess } from './process.mjs';

/** A file of float64, as contestants leave their results; it is read once. */
function readResult(file) {
  const bytes = readFileSync(file);
  rmSync(file);
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

export class Team {
  #running = new Map();
  #patience;
  #deadline = Infinity;
  /** What each contestant said of its versions, and why others are missing, by name. */
  versions = {};
  missing = {};

  /** So many milliseconds are there for an answer, unless the row ends before. */
  constructor(patience) {
    this.#patience = patience;
  }

  /** Starts those that do not run, all at the same time. */
  async start(contestants) {
    await Promise.all(contestants.map((contestant) => this.#get(contestant)));
  }

  /** From here on nobody is waited for beyond a time of `performance.now()`. */
  waitUntil(deadline) {
    this.#deadline = deadline;
  }

  #ask(process, message) {
    const left = Math.max(1, this.#deadline - performance.now());
    return process.request(message, Math.min(this.#patience, left));
  }

  /** The running process of a contestant with what it offers, or null where it is not available. */
  async #start(contestant) {
    const reasons = [];
    for (const [command, ...parameters] of contestant.commands) {
      const process = new ContestantProcess(command, parameters, contestant.environment);
      try {
        const hello = await process.request({ do: 'hello' });
        if (hello.missing === undefined) {
          this.versions[contestant.name] = hello.versions;
          return { process, offers: hello.offers };
        }
        reasons.push(hello.missing);
      } catch (error) {
        reasons.push(error.message);
      }
      process.close();
    }
    this.missing[contestant.name] = [...new Set(reasons)].join('; ');
    return null;
  }

  async #get(contestant) {
    if (this.missing[contestant.name] !== undefined) return null;
    const running = this.#running.get(contestant.name);
    if (running !== undefined && !running.process.ended) return running;
    const started = await this.#start(contestant);
    if (started !== null) this.#running.set(contestant.name, started);
    return started;
  }

  /**
   * What a contestant enters for a case: an entry (see measure.mjs) for each form that it offers. Results are
   * written to a folder. Forms that cannot be prepared are pushed to `refused`.
   */
  async entries(contestant, work, folder, refused) {
    const running = await this.#get(contestant);
    if (running === null) return [];
    const entries = [];
    for (const form of running.offers[work.kind] ?? []) {
      const name = form === '' ? contestant.name : `${contestant.name} ${form}`;
      const { technology } = contestant;
      try {
        const { id } = await this.#ask(running.process, { do: 'prepare', case: work, form });
        const file = join(folder, `${name} ${id}`.replaceAll(/[^\w.]/g, '-'));
        entries.push({ name, technology, ...this.#actions(running.process, id, file) });
      } catch (error) {
        refused.push({ name, reason: error.message });
      }
    }
    return entries;
  }

  #actions(process, id, file) {
    return {
      result: async () => {
        const { written } = await this.#ask(process, { do: 'result', id, file });
        return written ? readResult(file) : null;
      },
      note: async () => (await process.request({ do: 'note', id }, this.#patience)).note,
      round: async (milliseconds) =>
        (await this.#ask(process, { do: 'round', id, milliseconds })).milliseconds,
      release: () => process.request({ do: 'release', id }, this.#patience).catch(() => {}),
    };
  }

  /** Ends what a row had started, and the processes that are not to see another row. */
  endRow(contestants) {
    for (const { name, fresh } of contestants) {
      if (!fresh) continue;
      this.#running.get(name)?.process.close();
      this.#running.delete(name);
    }
  }

  close() {
    for (const { process } of this.#running.values()) process.close();
    this.#running.clear();
  }
}
