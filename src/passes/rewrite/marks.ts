/** The indices of the marks. */
export function indicesOf(marks: readonly boolean[]): readonly number[] {
  return marks.flatMap((mark, k) => (mark ? [k] : []));
}
