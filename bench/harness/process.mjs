// Our side of a contestant's process; serve.mjs says what the lines mean.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class ContestantProcess {
  #child;
  #waiting = [];
  #lastWords = '';
  #end = null;

  constructor(command, parameters, environment) {
    const env = { ...process.env, ...environment };
    this.#child = spawn(command, parameters, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr.on('data', (text) => this.#listen(text));
    this.#child.stdin.on('error', () => {}); // the end of the process says it better
    this.#child.on('error', (error) => this.#fail(error.message));
    this.#child.on('exit', (code, signal) => this.#fail(`ended with ${signal ?? code}`));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) this.#waiting.shift()?.resolve(JSON.parse(line));
      else this.#listen(`${line}\n`); // drivers print what they refuse
    });
  }

  get ended() {
    return this.#end !== null;
  }

  #listen(text) {
    this.#lastWords = (this.#lastWords + text).slice(-2000);
  }

  #fail(reason) {
    this.#end ??= new Error([reason, this.#lastWords.trim()].filter(Boolean).join(': '));
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
  }

  /**
   * The answer, for which there are so many milliseconds, compilers included. Throws what the contestant answers
   * as an error, and when it ends or is silent for longer, which ends it.
   */
  async request(message, patience = 240_000) {
    if (this.#end !== null) throw this.#end;
    const answer = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    const silence = setTimeout(() => {
      this.#fail(`no answer to "${message.do}" for ${Math.round(patience / 1000)} s`);
      this.#child.kill('SIGKILL'); // who waits for a driver may not hear anything gentler
    }, patience);
    try {
      const reply = await answer;
      if (reply.error !== undefined) throw new Error(reply.error);
      return reply;
    } finally {
      clearTimeout(silence);
    }
  }

  close() {
    this.#end ??= new Error('closed');
    this.#child.stdin.end();
    this.#child.kill();
  }
}
