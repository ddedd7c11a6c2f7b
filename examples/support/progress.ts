/** Where progress is shown. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A bar that redraws itself on a terminal; elsewhere a plain line now and then. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #stream: ProgressStream;
  #nextLine = 0.25;

  constructor(label: string, total: number, stream: ProgressStream = process.stdout) {
    this.#label = label;
    this.#total = total;
    this.#stream = stream;
  }

  /** Shows that `done` of the total is behind us. */
  update(done: number, note: string = ''): void {
    const share = done / this.#total;
    if (this.#stream.isTTY) {
      const width = 30;
      const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░');
      this.#stream.write(
        `\r  ${this.#label} ${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${note}\x1b[K`,
      );
      if (done === this.#total) this.#stream.write('\n');
    } else if (share >= this.#nextLine) {
      this.#nextLine = Math.min(1, share + 0.25);
      this.#stream.write(`  ${this.#label} ${Math.round(share * 100)} %  ${note}\n`);
    }
  }
}

/** `12.3 ms`. */
export function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}

/** `98.3 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
