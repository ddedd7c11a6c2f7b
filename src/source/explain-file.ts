import type * as t from '@babel/types';
import { type FunctionExplanation, explainFunction } from './explain/explaining-form.js';
import { openFile, type SourceOptions } from './file.js';
import { unwrapped, visitNodes } from './syntax/walk.js';

/** A function that is to be converted, with its branches and loops. */
export interface ExplainedFunction extends FunctionExplanation {
  readonly name: string;
  /** `line:column`, both from 1. */
  readonly place: string;
}

/** Explains the outermost functions of a file that have the directive. Throws what `transform` throws. */
export function explainFile(code: string, options: SourceOptions): readonly ExplainedFunction[] {
  const opened = openFile(code, options);
  if (opened === null) return [];
  const { file, functions } = opened;
  const names = functionNames(file.parsed.file.program);
  return functions.map((node) => ({
    name: names.get(node) ?? 'a function',
    place: file.places.text(node.start!),
    ...explainFunction(node, file),
  }));
}

/** The names of functions, their own or those of what they are assigned to. */
function functionNames(program: t.Program): ReadonlyMap<t.Node, string> {
  const names = new Map<t.Node, string>();
  const note = (fn: t.Node | null | undefined, target: t.Node): void => {
    if (fn && target.type === 'Identifier') names.set(unwrapped(fn), target.name);
  };
  visitNodes(program, (node) => {
    if (node.type === 'VariableDeclarator') note(node.init, node.id);
    else if (node.type === 'AssignmentExpression') note(node.right, node.left);
    else if ('key' in node && 'computed' in node && node.computed !== true) {
      const isProperty = node.type === 'ObjectProperty' || node.type === 'ClassProperty';
      note(isProperty ? node.value : node, node.key as t.Node);
    } else if ('id' in node && node.id) note(node, node.id as t.Node);
  });
  return names;
}
