import type * as kn from '../../src/index.js';
import type { Sample } from './messages.js';

/** A network that learns, step by step, on whatever device new arrays live. */
export interface Lesson {
  readonly epochs: number;
  /** The steps of one epoch, each of which gives the loss before it. */
  epoch(): Iterable<() => kn.NDArray>;
  /** Share of the held-out examples that the network tells right, and a few of these. */
  examine(): Promise<{ readonly accuracy: number; readonly samples: readonly Sample[] }>;
}

/** Examples whose answers the page shows. */
export const shownSamples = 12;

/** The class that a network gives an example. */
export interface Answer {
  readonly answer: number;
  /** Its probability. */
  readonly confidence: number;
}

/** Answers of a network, from logits (count, classes). */
export async function answersOf(logits: kn.NDArray): Promise<readonly Answer[]> {
  const [count, classes] = logits.shape;
  const probabilities = await logits.softmax(-1).data();
  return Array.from({ length: count }, (_, row) => {
    const own = probabilities.subarray(row * classes, (row + 1) * classes);
    const confidence = Math.max(...own);
    return { answer: own.indexOf(confidence), confidence };
  });
}
