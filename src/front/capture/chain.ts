/** A part of a capture, linked to the same part of the enclosing capture. */
export interface Enclosed<P> {
  /** The part of the enclosing capture; null for the outermost one. */
  readonly parent: P | null;
}

/** First defined answer of a part and those of the enclosing captures, from the inside out. */
export function innermost<P extends Enclosed<P>, R>(
  from: P,
  ask: (part: P) => R | undefined,
): R | undefined {
  for (let part: P | null = from; part !== null; part = part.parent) {
    const answer = ask(part);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Visits a part and those of the enclosing captures, from the inside out. */
export function outward<P extends Enclosed<P>>(from: P, visit: (part: P) => void): void {
  for (let part: P | null = from; part !== null; part = part.parent) visit(part);
}
