import type { Dim } from '../../base/dim/index.js';
import { textOfWords } from '../../ir/requirement.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { HostStatementOf, Handle, HostStatement, HostRoutine, StackedArray, Stretch, ZeroTest } from './statements.js'; // prettier-ignore
import { programNames } from './walk.js';

/** A routine for people: its inputs, a line for each statement, and what it returns. Arrays are `%0`, `%1` and so on. */
export function routineLines({ program, inputs, constants, body, outputs }: HostRoutine): string[] {
  const given = program.inputs.map(({ node }, k) => {
    const variable = program.node(node);
    const name = variable.kind === 'variable' ? `${variable.name} = ` : '';
    return `${name}${made(inputs[k])}`;
  });
  return [
    `inputs ${given.join(', ') || 'none'}`,
    ...[...constants.keys()].map((handle) => `constant ${made(handle)}`),
    ...statementLines(body),
    `return ${outputs.map(stretch).join(', ')}`,
  ];
}

/** Statements for people. */
export function statementLines(body: readonly HostStatement[]): string[] {
  return new StatementPrinter(programNames(body)).lines(body);
}

class StatementPrinter {
  readonly #names: ReadonlyMap<Program, string>;

  constructor(names: ReadonlyMap<Program, string>) {
    this.#names = names;
  }

  lines(body: readonly HostStatement[]): string[] {
    return body.flatMap((statement) => this.#statement(statement));
  }

  #inside(body: readonly HostStatement[]): string[] {
    return this.lines(body).map((line) => `  ${line}`);
  }

  #statement(statement: HostStatement): string | string[] {
    switch (statement.kind) {
      case 'set':
        return `set ${statement.name} = ${String(statement.value)}${mostText(statement.bound)}`;
      case 'assign':
        return `${statement.name} = ${String(statement.value)}`;
      case 'load': {
        const { name, from, bound } = statement;
        return `load ${name} = ${stretch(from)}${mostText(bound)}${lineOf(bound?.call)}`;
      }
      case 'store':
        return `store ${stretch(statement.to)} = ${String(statement.value)}`;
      case 'require': {
        const { op, problem } = statement.refusal;
        return `require ${testText(statement.test)}, else ${op}: ${textOfWords(problem)}`;
      }
      case 'repeat':
        return ['repeat', ...this.#inside(statement.body)];
      case 'leave':
        return `leave when ${testText(statement.when)}`;
      case 'choose': {
        const consequent = this.#inside(statement.consequent);
        const alternate = this.#inside(statement.alternate);
        const otherwise = alternate.length === 0 ? [] : ['else', ...alternate];
        return [`if ${testText(statement.when)}`, ...consequent, ...otherwise];
      }
      case 'allocate':
        return `allocate ${stacks(statement.stacks)}, ${String(statement.rows)} rows`;
      case 'grow': {
        const { rows, needed, to, kept } = statement;
        return `grow ${stacks(statement.stacks)}, if ${String(needed)} > ${rows}: ${rows} = ${String(to)} rows, keep ${String(kept)}`; // prettier-ignore
      }
      case 'trim':
        return `trim ${stacks(statement.stacks)}, ${String(statement.rows)} rows`;
      case 'copy':
        return `copy ${stretch(statement.to)} = ${stretch(statement.from)}`;
      case 'clear':
        return `clear ${stretch(statement.at)}`;
      case 'check':
        return `check ${stretch(statement.elements)} for ${statement.call.op.name}${lineOf(statement.call)}`;
      case 'run': {
        const { part, reads, sizes, gives } = statement;
        return `run ${part.name}(${given(reads, sizes)}) -> ${gives.map(made).join(', ')}`;
      }
      case 'call':
        return this.#call(statement);
      case 'drop':
        return `drop ${statement.handles.map(name).join(', ')}`;
    }
  }

  #call({ callee, operands, sizes, results, site }: HostStatementOf<'call'>): string {
    const targets = results.map((result) => {
      if (result.kind === 'into') return stretch(result.to);
      const extents = result.extents.map((extent) => extent ?? '_');
      return `${made(result.as)}[${extents.join(', ')}]`;
    });
    const { where, call } = site;
    const called = `${this.#names.get(callee.program)!}(${given(operands, sizes)})`;
    return `call ${called} -> ${targets.join(', ')}, ${call.op.name}: ${textOfWords(where)}${lineOf(call)}`;
  }
}

const name = ({ id }: Handle): string => `%${id}`;

const made = (handle: Handle): string => `${name(handle)} ${handle.dtype}`;

const given = (operands: readonly Stretch[], sizes: readonly Dim[]): string =>
  [...operands.map(stretch), ...sizes].join(', ');

const shapeText = (shape: readonly Dim[]): string => `[${shape.join(', ')}]`;

function stretch({ of, shape, offset = 0 }: Stretch): string {
  return `${name(of)}${shapeText(shape)}${offset === 0 ? '' : ` from ${String(offset)}`}`;
}

function stacks(all: readonly StackedArray[]): string {
  return all.map(({ of, row }) => `${made(of)}${shapeText(row)}`).join(', ');
}

function testText({ dim, relation }: ZeroTest): string {
  return `${String(dim)} ${relation} 0`;
}

function mostText(bound: { readonly most: Dim | null } | undefined): string {
  return bound === undefined ? '' : `, at most ${String(bound.most ?? 'any')}`;
}

function lineOf(call: CallNode | undefined): string {
  return call?.source === undefined ? '' : `  // ${call.source}`;
}
