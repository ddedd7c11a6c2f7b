/** Unchanged lines that are shown around a change. */
const context = 3;

/** Changes that are shown; the rest is counted. */
const mostLines = 120;

/**
 * How a text differs from what it was, line by line: `-` for what is gone, `+` for what is new, each with
 * the lines around it; empty for equal texts.
 */
export function difference(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const lines = editsBetween(old, now);
  const isNear = lines.map(() => false);
  lines.forEach(({ mark }, at) => {
    if (mark === ' ') return;
    for (let near = at - context; near <= at + context; near++) isNear[near] = true;
  });
  const shown: string[] = [];
  lines.forEach(({ mark, text, line }, at) => {
    if (isNear[at] !== true) return;
    if (isNear[at - 1] !== true) shown.push(`@ line ${line}`);
    shown.push(`${mark} ${text}`);
  });
  if (shown.length <= mostLines) return shown.join('\n');
  return [...shown.slice(0, mostLines), `... and ${shown.length - mostLines} lines more`].join(
    '\n',
  );
}

interface Edit {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
  /** In the new text, from 1. */
  readonly line: number;
}

/** The shortest way from one list of lines to another (Myers, "An O(ND) difference algorithm", 1986). */
function editsBetween(old: readonly string[], now: readonly string[]): readonly Edit[] {
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  let tail = 0;
  while (
    tail < old.length - same &&
    tail < now.length - same &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail++;
  }
  const kept = (from: number, to: number): Edit[] =>
    now.slice(from, to).map((text, i) => ({ mark: ' ', text, line: from + i + 1 }));
  return [
    ...kept(0, same),
    ...shortest(old.slice(same, old.length - tail), now.slice(same, now.length - tail), same),
    ...kept(now.length - tail, now.length),
  ];
}

function shortest(old: readonly string[], now: readonly string[], offset: number): Edit[] {
  // The furthest that each diagonal (lines of the new text ahead of the old) is reached, edit by edit.
  const trail: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let edits = 0; ; edits++) {
    trail.push(new Map(reached));
    const next = new Map(reached);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let at = startOf(reached, diagonal, edits);
      while (at < old.length && at - diagonal < now.length && old[at] === now[at - diagonal]) at++;
      next.set(diagonal, at);
      if (at >= old.length && at - diagonal >= now.length) return traced(trail, old, now, offset);
    }
    reached = next;
  }
}

/** Where a diagonal is entered: from the one beside it that came further. */
function startOf(reached: ReadonlyMap<number, number>, diagonal: number, edits: number): number {
  const [above, left] = [reached.get(diagonal + 1) ?? 0, reached.get(diagonal - 1) ?? 0];
  return isFromAbove(reached, diagonal, edits) ? above : left + 1;
}

function isFromAbove(
  reached: ReadonlyMap<number, number>,
  diagonal: number,
  edits: number,
): boolean {
  if (diagonal === -edits) return true;
  return diagonal !== edits && (reached.get(diagonal - 1) ?? 0) < (reached.get(diagonal + 1) ?? 0);
}

/** From the end back to the beginning, along what was reached. */
function traced(
  trail: readonly ReadonlyMap<number, number>[],
  old: readonly string[],
  now: readonly string[],
  offset: number,
): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [old.length, now.length];
  for (let count = trail.length - 1; count >= 0; count--) {
    const reached = trail[count];
    const isNew = isFromAbove(reached, x - y, count);
    const start = startOf(reached, x - y, count);
    while (x > start && y > 0 && x > 0) {
      x--;
      y--;
      edits.push({ mark: ' ', text: now[y], line: offset + y + 1 });
    }
    if (count === 0) break;
    if (isNew) {
      y--;
      edits.push({ mark: '+', text: now[y], line: offset + y + 1 });
    } else {
      x--;
      edits.push({ mark: '-', text: old[x], line: offset + y + 1 });
    }
  }
  return edits.reverse();
}
