/** How often the predicate is asked at most. */
const patience = 600;

/**
 * The fewest lines of a program that still fail: statements are left out with what they hold, bodies run once in the
 * place of their loops, calls give way to their operands, and names to those of parameters.
 *
 * @param fails Refuses texts that are no programs.
 */
export async function shrinkLines(
  text: string,
  fails: (text: string) => boolean | Promise<boolean>,
): Promise<string> {
  let best = text.split('\n');
  let left = patience;
  const accept = async (lines: readonly string[]): Promise<boolean> => {
    if (left <= 0 || lines.join('\n').length >= best.join('\n').length) return false;
    if (!isBound(lines.join('\n'))) return false;
    left--;
    if (!(await fails(lines.join('\n')))) return false;
    best = [...lines];
    return true;
  };
  let before: readonly string[];
  do {
    before = best;
    for (let at = best.length - 2; at > 0; at--) {
      for (const end of endsOf(best, at)) if (await accept(best.toSpliced(at, end - at))) break;
    }
    for (let at = best.length - 2; at > 0; at--) {
      const lines = unwrapped(best, at);
      if (lines !== null) await accept(lines);
    }
    for (const [at, line] of best.entries()) {
      for (const simpler of simplerLines(line)) if (await accept(best.with(at, simpler))) break;
    }
    const names = [...new Set(best.join('\n').match(/\b[a-z]\d+\b/g) ?? [])];
    for (const name of names) {
      const [, same] = new RegExp(`const ${name} = (\\w+);`).exec(best.join('\n')) ?? [];
      for (const other of [...(same === undefined ? [] : [same]), 's', 'w', 'x']) {
        if (await accept(withoutDead(best.map((line) => replaceUses(line, name, other))))) break;
      }
    }
  } while (before !== best);
  return best.join('\n');
}

/** The line with reads of a name replaced; what it defines keeps its name. */
function replaceUses(line: string, name: string, other: string): string {
  const [, head, tail] = /^(\s*const [^=]*= |)(.*)$/.exec(line)!;
  const defines = new RegExp(`\\((\\[?[^()]*)\\b${name}\\b[^()]*\\) => `).test(tail);
  return defines ? line : head + tail.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), other);
}

/** Without the lines that define what nothing reads. */
function withoutDead(lines: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const [name] of lines.join('\n').matchAll(/\b[a-z]\w*\b/g)) counts.set(name, (counts.get(name) ?? 0) + 1); // prettier-ignore
  return lines.filter((line) => {
    const [, name] = /^\s*const (\w+) = .*;$/.exec(line) ?? [];
    return name === undefined || counts.get(name)! > 1;
  });
}

/** The lines with a body in the place of the call that is given it at a line; null where none is. */
function unwrapped(lines: readonly string[], at: number): string[] | null {
  const [, indent, made, params] =
    /^(\s*)const (.*?) = kn\..*\((.*)\) => \{$/.exec(lines[at]) ?? [];
  if (made === undefined) return null;
  const back = lines.findIndex((line, k) => k > at && line.startsWith(`${indent}  return `));
  const close = lines.findIndex((line, k) => k > at && /^\}.*;$/.test(line.slice(indent.length)) && line.startsWith(`${indent}}`)); // prettier-ignore
  if (back < 0 || back > close) return null;
  const names = params.match(/\w+/g) ?? [];
  const fresh = names.map((name) => `${indent}const ${name} = ${name.startsWith('i') ? 'limit' : name.startsWith('r') ? 'w' : 's'};`); // prettier-ignore
  const body = [...fresh, ...lines.slice(at + 1, back).map((line) => line.slice(2)), lines[back].slice(2).replace('return', `const ${made} =`)]; // prettier-ignore
  return withoutDead([...lines.slice(0, at), ...body, ...lines.slice(close + 1)]);
}

/** Where a statement that begins at a line may end; also several statements. */
function* endsOf(lines: readonly string[], at: number): Generator<number> {
  const indent = (line: string): number => line.length - line.trimStart().length;
  const own = indent(lines[at]);
  const ends: number[] = [];
  for (let end = at; end < lines.length && indent(lines[end]) >= own; end++) {
    const isOpen = /(\{|\[)$/.test(lines[end]);
    const next = lines[end + 1];
    if (indent(lines[end]) === own && !isOpen && !/^\s*return/.test(lines[end]) && next !== undefined) ends.push(end + 1); // prettier-ignore
  }
  yield* ends.slice(0, 8).toReversed();
}

/** Simpler forms of a line: one term for a sum, an operand for a call, a list of fewer. */
function* simplerLines(line: string): Generator<string> {
  const call = /kn\.\w+\(/g;
  for (let found = call.exec(line); found !== null; found = call.exec(line)) {
    const close = closing(line, call.lastIndex - 1);
    if (close < 0) continue;
    for (const argument of argumentsIn(line.slice(call.lastIndex, close))) {
      yield line.slice(0, found.index) + argument + line.slice(close + 1);
    }
  }
}

function closing(line: string, open: number): number {
  let depth = 0;
  for (let i = open; i < line.length; i++) {
    if ('([{'.includes(line[i])) depth++;
    else if (')]}'.includes(line[i]) && --depth === 0) return i;
  }
  return -1;
}

function argumentsIn(text: string): string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i <= text.length; i++) {
    if (i === text.length || (text[i] === ',' && depth === 0)) {
      found.push(text.slice(from, i).trim());
      from = i + 1;
    } else if ('([{'.includes(text[i])) depth++;
    else if (')]}'.includes(text[i])) depth--;
  }
  return found;
}

/** True for a text that is a program. */
function isBound(text: string): boolean {
  try {
    // oxlint-disable-next-line no-new, typescript/no-implied-eval, no-new-func
    new Function(text);
    return true;
  } catch {
    return false;
  }
}
