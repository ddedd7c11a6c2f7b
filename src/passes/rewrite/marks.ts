/** The positions of what is marked. */
export function indicesOf(marks: readonly boolean[]): readonly number[] {
  return marks.flatMap((mark, k) => (mark ? [k] : []));
}
