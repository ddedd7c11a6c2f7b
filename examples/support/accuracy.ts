import type * as kn from '../../src/index.js';

/** The share of labels that logits put first. */
export function accuracyOf(logits: kn.NDArray, labels: kn.NDArray): number {
  return Number(logits.argmax(-1).equal(labels).astype('float32').mean().item());
}

/** How many of a batch's names logits put first. */
export function countRight(logits: kn.NDArray, languages: kn.NDArray): number {
  return Number(logits.argmax(-1).equal(languages).astype('int32').sum().item());
}
