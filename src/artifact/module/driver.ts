import type { Dim } from '../../base/dim/index.js';
import { templateText } from '../../base/escape.js';
import type { MessageTemplate } from '../../ir/requirement.js';
import { type DimStyle, dimText } from '../dim-text.js';
import type { Loaded, Routine, Statement, Test } from '../driver/statements.js';

/** Name of a size or address in the module, whose other names do not begin like this. */
export const local = (name: string): string => `size_${name}`;

const style: DimStyle = {
  constant: String,
  symbol: local,
  operation: (kind, a, b) =>
    ({
      floorDiv: `Math.floor((${a}) / (${b}))`,
      mod: `((${a}) - Math.floor((${a}) / (${b})) * (${b}))`,
      max: `Math.max(${a}, ${b})`,
      min: `Math.min(${a}, ${b})`,
    })[kind],
};

/** A size or an address as an expression. */
export const valueText = (dim: Dim): string => dimText(dim, style);

export const listText = (dims: readonly Dim[]): string => `[${dims.map(valueText).join(', ')}]`;

/** A message with sizes in it, as a string. */
export function message(words: MessageTemplate): string {
  const parts = words.map(
    (part, i) =>
    i % 2 === 0 ? templateText(String(part)) : `\${${valueText(part as Dim)}}`, // prettier-ignore
  );
  return `\`${parts.join('')}\``;
}

const comparisons = { '=': '===', '>=': '>=' } as const;

export function condition({ dim, relation }: Test): string {
  return `${valueText(dim)} ${comparisons[relation]} 0`;
}

/** Number of parameters of each `main`: beside the table, all of the memory. */
export type Arity = (main: string) => number;

export function routineText({ name, parameters, body, returns }: Routine, arity: Arity): string {
  const lines = [...bodyLines(body, arity), `return ${listText(returns)};`];
  return `function ${name}(${parameters.map(local).join(', ')}) {\n${indented(lines)}}\n`;
}

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}\n`).join('');

/** Statements as lines; `let` throughout, since loops change some. */
export function bodyLines(body: readonly Statement[], arity: Arity): readonly string[] {
  const inside = (statements: readonly Statement[]): readonly string[] =>
    bodyLines(statements, arity).map((line) => `  ${line}`);
  return body.flatMap((statement): readonly string[] => {
    switch (statement.kind) {
      case 'set':
        return [`let ${local(statement.name)} = ${valueText(statement.value)};`];
      case 'assign':
        return [`${local(statement.name)} = ${valueText(statement.value)};`];
      case 'load':
        return [`const ${local(statement.name)} = ${loaded(statement.from, statement.dtype)};`];
      case 'store':
        return [`view('int32', ${valueText(statement.to)}, 1)[0] = ${valueText(statement.value)};`];
      case 'require':
        return [
          `if (!(${condition(statement.test)})) throw new RangeError(${message(statement.problem)});`,
        ];
      case 'reserve':
        return [`reserve(${valueText(statement.end)});`];
      case 'run': {
        const { main, table, entries } = statement;
        const rest = Array.from({ length: arity(main) - 1 }, () => ', 0').join('');
        return [
          `view('int32', ${valueText(table)}, ${entries.length}).set(${listText(entries)});`,
          `kernels.${main}(${valueText(table)}${rest});`,
        ];
      }
      case 'move':
        return [
          `move(${valueText(statement.to)}, ${valueText(statement.from)}, ${valueText(statement.bytes)});`,
        ];
      case 'clear':
        return [
          `view('uint8', ${valueText(statement.to)}, ${valueText(statement.bytes)}).fill(0);`,
        ];
      case 'declare':
        return [`let ${statement.names.map(local).join(', ')};`];
      case 'call': {
        const { routine, values, results } = statement;
        const called = `${routine.name}(${values.map(valueText).join(', ')});`;
        const last = results.findLastIndex((name) => name !== null);
        if (last < 0) return [called];
        const names = results.slice(0, last + 1).map((name) => (name === null ? '' : local(name)));
        return [`[${names.join(', ')}] = ${called}`];
      }
      case 'repeat':
        return ['for (;;) {', ...inside(statement.body), '}'];
      case 'leave':
        return [`if (${condition(statement.when)}) break;`];
      case 'choose': {
        const alternate = inside(statement.alternate);
        return [
          `if (${condition(statement.when)}) {`,
          ...inside(statement.consequent),
          ...(alternate.length === 0 ? [] : ['} else {', ...alternate]),
          '}',
        ];
      }
    }
  });
}

function loaded(from: Dim, dtype: Loaded): string {
  return dtype === 'int64'
    ? `Number(view('int64', ${valueText(from)}, 1)[0])`
    : `view('${dtype}', ${valueText(from)}, 1)[0]`;
}
