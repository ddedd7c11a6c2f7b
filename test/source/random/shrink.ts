import vm from 'node:vm';
import type * as t from '@babel/types';
import { parse } from '../../../src/source/syntax/parse.js';
import { childrenOf } from '../../../src/source/syntax/walk.js';

/** How often a smaller program is tried at most. */
const patience = 1500;

/**
 * Checks a program. A failure is that of the smallest program that fails alike: statements are left out or give way to
 * what is inside of them, expressions to their operands.
 *
 * @param check Throws for a program that does not do what it should. The first line of the message says what is wrong.
 */
export function checkSmallest(code: string, check: (code: string) => void): void {
  const errorOf = (candidate: string): unknown => {
    try {
      // Programs that are made smaller need not end.
      vm.runInNewContext('check()', { check: () => check(candidate) }, { timeout: 300 });
      return null;
    } catch (error) {
      return error;
    }
  };
  try {
    check(code);
  } catch (error) {
    let [best, shown, left] = [code, error, patience];
    const accept = (candidate: string): boolean => {
      if (left-- <= 0) return false;
      const other = errorOf(candidate);
      if (other === null || kindOf(other) !== kindOf(error)) return false;
      [best, shown] = [candidate, other];
      return true;
    };
    while (smallerPrograms(best).some(accept));
    throw shown;
  }
}

/** An error without numbers: what smaller programs must keep, so that they do not wander to another fault. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.message.split('\n', 1)[0].replaceAll(/-?\d+(\.\d+)?/g, '');
  return `${error.name}: ${line}${error.cause instanceof Error ? `, since ${kindOf(error.cause)}` : ''}`;
}

/** Programs without a part of this one, those without the largest parts first. */
function smallerPrograms(code: string): string[] {
  const edits: { readonly node: t.Node; readonly text: string }[] = [];
  const visit = (node: t.Node): void => {
    const children = childrenOf(node);
    const inside = children.filter((child) => isStatement(child) || child.type === 'CatchClause');
    if (isStatement(node)) {
      const parts = inside.map((child) => textOf(child).replace(/^(?:catch.*?)?\{(.*)\}$/s, '$1'));
      for (const text of ['', ...parts, parts.join('\n')]) edits.push({ node, text });
    } else if (node.type.endsWith('Expression')) {
      for (const child of children) edits.push({ node, text: textOf(child) });
    }
    for (const child of children) visit(child);
  };
  const textOf = ({ start, end }: t.Node): string => code.slice(start!, end!);
  visit(parse(code, 'program.js').file.program);
  const sizeOf = ({ node, text }: (typeof edits)[number]): number => node.end! - node.start! - text.length; // prettier-ignore
  const programs = edits
    .filter((edit) => sizeOf(edit) > 0)
    .sort((a, b) => sizeOf(b) - sizeOf(a))
    .map(({ node, text }) => code.slice(0, node.start!) + text + code.slice(node.end!));
  return [...new Set(programs)].filter(isProgram);
}

function isStatement({ type }: t.Node): boolean {
  return /Statement$|Declaration$/.test(type);
}

/** True for a text that declares `main` and says that it is converted. */
function isProgram(code: string): boolean {
  if (!/function main\(.*'use graph'/s.test(code)) return false;
  try {
    // Random programs are put together while tests run.
    // oxlint-disable-next-line no-new, typescript/no-implied-eval, no-new-func
    new Function(`'use strict';${code}`);
    return true;
  } catch {
    return false;
  }
}
