/** What a line may have of characters before it is broken. */
const width = 100;

type Tree = string | readonly Tree[];

/** Text of nested brackets laid out anew: what fits goes on one line, whatever it was broken into. */
export function refit(text: string): string {
  const tokens = text.match(/\(;.*?;\)|"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+/g) ?? [];
  let at = 0;
  const tree = (): Tree => {
    const token = tokens[at++];
    if (token !== '(') return token;
    const items: Tree[] = [];
    while (tokens[at] !== ')') items.push(tree());
    at++;
    return items;
  };
  const lines: string[] = [];
  while (at < tokens.length) layOut(tree(), '', lines);
  return lines.join('\n');
}

function flat(tree: Tree): string {
  return typeof tree === 'string' ? tree : `(${tree.map(flat).join(' ')})`;
}

function layOut(tree: Tree, indent: string, lines: string[]): void {
  const whole = indent + flat(tree);
  if (typeof tree === 'string' || whole.length <= width) {
    lines.push(whole);
    return;
  }
  let line = `${indent}(`;
  for (const item of tree) {
    const next = `${line}${line.endsWith('(') || line.trim() === '' ? '' : ' '}${flat(item)}`;
    if (flows(item) && next.length <= width) {
      line = next;
      continue;
    }
    if (line.trim() !== '') lines.push(line);
    line = `${indent}  `;
    if (flows(item)) line += flat(item);
    else layOut(item, `${indent}  `, lines);
  }
  if (line.trim() !== '') lines.push(line);
  lines[lines.length - 1] += ')';
}

/** Whether one follows another on a line: words, and what functions begin with. */
function flows(tree: Tree): boolean {
  return (
    typeof tree === 'string' || ['type', 'param', 'result', 'local'].includes(tree[0] as string)
  );
}
