import type * as t from '@babel/types';
import { patternNames, type Scope, type VariableBinding } from '../syntax/scopes.js';
import {
  contains,
  isClass,
  isFunction,
  isTypeOnly,
  unwrapped,
  visitNodes,
} from '../syntax/walk.js';
import { CapturedForm } from './captured.js';
import { environmentOf } from './environments.js';
import type { FileContext, Form } from './form.js';
import { FunctionFacts } from '../flow/function-facts.js';
import type { HostForm } from './host.js';
import { added, type Piece } from './output.js';
import { has } from '../syntax/shape.js';

/*
 * Parameters: their defaults and computed keys are expressions, which run before the body, in a scope of their own.
 * A function that has both forms has both forms of each of them, and asks which is to run.
 */

/** Gives the pieces for an expression among the parameters. `name`: of the parameter whose default it is. */
type Write = (value: t.Node, name: string | null) => readonly Piece[];

/** A parameter, or another part of a function's head. */
function parameter(node: t.Node, form: Form, write: Write): readonly Piece[] {
  const inside = (child: t.Node): readonly Piece[] => parameter(child, form, write);
  switch (node.type) {
    case 'AssignmentPattern': {
      const { left, right } = node;
      const name = left.type === 'Identifier' ? left.name : null;
      return form.copy(node, (child) => (child === right ? write(child, name) : inside(child)));
    }
    case 'ObjectProperty':
      return form.copy(node, (child) => {
        if (child === node.value) return inside(child);
        return node.computed ? write(child, null) : form.expression(child);
      });
    case 'ObjectPattern':
    case 'ArrayPattern':
    case 'RestElement':
    case 'TSParameterProperty':
      return form.copy(node, inside);
    default:
      return form.expression(node);
  }
}

/** Parameters of a function that has the captured form only. */
export function capturedParameter(
  node: t.Node,
  own: CapturedForm,
  owner: t.Function,
): readonly Piece[] {
  return parameter(node, own, (value, name) =>
    besideEnvironments(value, name, owner, own.file, initialIn(own, value, name)),
  );
}

/** Parameters of a function that has both forms. */
export function parameterInBothForms(
  node: t.Node,
  host: HostForm,
  owner: t.Function,
): readonly Piece[] {
  return parameter(node, host, (value, name) => {
    const { file } = host;
    const written = host.expression(value);
    if (!isConvertedValue(value, name, owner, file)) return besideEnvironments(value, name, owner, file, written); // prettier-ignore
    const captured = new CapturedForm(file, new FunctionFacts(owner, file.scopes), owner);
    const both = [
      added(`${file.runtime}.mode.capture !== null ? (`, value.start!),
      ...initialIn(captured, value, name),
      added(') : ('),
      ...written,
      added(')'),
    ];
    return besideEnvironments(value, name, owner, file, both);
  });
}

/** A default or computed key in the captured form. Lists that it makes collect rows. */
function initialIn(form: CapturedForm, value: t.Node, name: string | null): readonly Piece[] {
  const isMaking = has(value, ({ type }) => type === 'ArrayExpression' || type === 'NewExpression');
  return name !== null && isMaking ? form.initial(value, name) : form.expression(value);
}

/** True if some default or computed key has a captured form of its own. */
export function hasConvertedParameters(node: t.Function, file: FileContext): boolean {
  return parameterValues(node).some(([value, name]) => isConvertedValue(value, name, node, file));
}

function parameterValues(node: t.Function): readonly (readonly [t.Node, string | null])[] {
  const found: (readonly [t.Node, string | null])[] = [];
  const note = (pattern: t.Node | null | undefined): void => {
    switch (pattern?.type) {
      case 'AssignmentPattern':
        found.push([pattern.right, pattern.left.type === 'Identifier' ? pattern.left.name : null]);
        return note(pattern.left);
      case 'ObjectPattern':
        return pattern.properties.forEach(note);
      case 'ObjectProperty':
        if (pattern.computed) found.push([pattern.key, null]);
        return note(pattern.value);
      case 'ArrayPattern':
        return pattern.elements.forEach(note);
      case 'RestElement':
        return note(pattern.argument);
      case 'TSParameterProperty':
        return note(pattern.parameter);
      default:
    }
  };
  node.params.forEach(note);
  return found;
}

/** A function takes its name from the parameter, as long as it is the default itself; it has both forms inside. */
function isAnonymous(value: t.Node): boolean {
  const inner = unwrapped(value);
  return (isFunction(inner) || isClass(inner)) && !('id' in inner && inner.id);
}

function isConvertedValue(
  value: t.Node,
  name: string | null,
  owner: t.Function,
  file: FileContext,
): boolean {
  if (isAnonymous(value)) return false;
  const own = { ...file, renderFunction: () => [] };
  const form = new CapturedForm(own, new FunctionFacts(owner, file.scopes), owner);
  const pieces = initialIn(form, value, name);
  return pieces.some((piece) => 'text' in piece && piece.text.includes(file.runtime));
}

/** A value, with the objects beside parameters that functions in it write: those of the body are not seen here. */
function besideEnvironments(
  value: t.Node,
  name: string | null,
  owner: t.Function,
  { scopes, runtime }: FileContext,
  pieces: readonly Piece[],
): readonly Piece[] {
  const scope = scopes.of.get(owner) as Scope;
  const isWritten = ({ references }: VariableBinding): boolean =>
    references.some((each) => each.writes && each.from.owner !== scope && contains(value, each.identifier)); // prettier-ignore
  const names = [...scope.bindings.values()].filter(isWritten).flatMap((binding) => environmentOf(binding, runtime) ?? []); // prettier-ignore
  if (names.length === 0) return pieces;
  // As a property it has the name that the parameter would give it.
  const [start, end] = name !== null && isAnonymous(value) ? [`({ ${name}: `, ` }).${name}`] : ['(', ')']; // prettier-ignore
  return [
    added(`((${names.join(', ')}) => ${start}`),
    ...pieces,
    added(`${end})(${names.map(() => `${runtime}.environment()`).join(', ')})`),
  ];
}

export function parameterNames(node: t.Function): readonly string[] {
  return node.params.flatMap((each) => patternNames(each)).map(({ name }) => name).filter((name) => name !== 'this'); // prettier-ignore
}

/**
 * The parameters of which the captured form has copies, so that its closures do not slow down the host form. Those
 * that functions among the parameters use are shared with them, and all where `arguments` may be another name for them.
 */
export function copiedParameters(
  node: t.Function,
  scopes: FileContext['scopes'],
): readonly string[] {
  if (node.type !== 'ArrowFunctionExpression' && usesOwnNames(node, false)) return [];
  const scope = scopes.of.get(node) as Scope;
  const isShared = (name: string): boolean =>
    scope.bindings
      .get(name)!
      .references.some(({ from, identifier }) => from.owner !== scope && identifier.end! <= node.body.start!); // prettier-ignore
  return parameterNames(node).filter((name) => !isShared(name));
}

/** The parameters that the body declares again: there they are variables of their own, unless all are plain names. */
export function redeclaredParameters(node: t.Function): readonly string[] {
  if (node.params.every(({ type }) => type === 'Identifier')) return [];
  const declared = new Set<string>();
  visitNodes(node.body, (each) => {
    if (isFunction(each) || isClass(each) || isTypeOnly(each)) return false;
    if (each.type !== 'VariableDeclaration' || each.kind !== 'var') return true;
    for (const { id } of each.declarations) for (const { name } of patternNames(id)) declared.add(name); // prettier-ignore
    return true;
  });
  return parameterNames(node).filter((name) => declared.has(name));
}

/** True if a function uses `arguments`, or `super` as well. */
export function usesOwnNames(node: t.Function, withSuper: boolean = true): boolean {
  let isFound = false;
  visitNodes(node, (each) => {
    if (each !== node && isFunction(each) && each.type !== 'ArrowFunctionExpression') return false;
    isFound ||= (withSuper && each.type === 'Super') || (each.type === 'Identifier' && each.name === 'arguments'); // prettier-ignore
    return !isFound;
  });
  return isFound;
}
