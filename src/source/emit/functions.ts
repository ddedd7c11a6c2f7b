import type * as t from '@babel/types';
import { graphDirective } from '../../base/directive.js';
import type { Scope, Scopes } from '../syntax/scopes.js';
import { CapturedForm } from './captured.js';
import { environmentOf } from './environments.js';
import type { FileContext, Form } from './form.js';
import { FunctionFacts } from '../flow/function-facts.js';
import { HostForm } from './host.js';
import { dynamicScopeIn } from './native-statements.js';
import { added, type Piece } from './output.js';
import { outsideReads } from './outside-reads.js';
import {
  capturedParameter,
  copiedParameters,
  hasConvertedParameters,
  parameterInBothForms,
  parameterNames,
  redeclaredParameters,
  usesOwnNames,
} from './parameters.js';

/*
 * A converted function has its code twice. The host form is the code as it is written, but for tests; the
 * captured form, on one line before it, runs while code is captured. Functions inside the captured form have
 * that form only, which is right on host values too.
 */

/** A function as part of code in a form. */
export function renderFunction(node: t.Function, form: Form): readonly Piece[] {
  const { file } = form;
  const canCapture = dynamicScopeIn(node) === null && !isDeclaration(node);
  if (form instanceof CapturedForm && canCapture) {
    const own = new CapturedForm(file, new FunctionFacts(node, file.scopes), node);
    const body = capturedBody(node, own);
    return withBody(node, form, body, (child) => capturedParameter(child, own, node));
  }
  const host = new HostForm(file, form.isCompact, node.body.type === 'BlockStatement');
  const head = new HostForm(file, form.isCompact, false);
  const isTwofold = canCapture && !form.isCompact && !(isGenerator(node) && usesOwnNames(node));
  return withBody(node, form, hostBody(node, host, isTwofold), (child) =>
    isTwofold ? parameterInBothForms(child, head, node) : head.expression(child),
  );
}

/** Overloads and abstract methods have no body. */
function isDeclaration(node: t.Function): boolean {
  return (node as { readonly body?: unknown }).body === undefined;
}

function withBody(
  node: t.Function,
  form: Form,
  body: readonly Piece[],
  parameter: (child: t.Node) => readonly Piece[],
): readonly Piece[] {
  const head = new HostForm(form.file, form.isCompact, false);
  const inside: readonly Piece[] = [added('')];
  const pieces = form.copy(node, (child) => {
    if (child === node.body) return inside;
    if (node.params.includes(child as t.FunctionParameter)) return parameter(child);
    return 'key' in node && child === node.key ? form.expression(child) : head.expression(child);
  });
  const at = pieces.indexOf(inside[0]);
  const isBlock = node.body.type !== 'BlockStatement' && 'text' in body[0] && body[0].text.startsWith('{ '); // prettier-ignore
  if (!isBlock) return [...pieces.slice(0, at), ...body, ...pieces.slice(at + 1)];
  // Without the parentheses around the expression that a block replaces.
  const { code } = form.file.parsed;
  const arrow = pieces.findLastIndex((piece, i) => i < at && 'start' in piece && code.slice(piece.start, piece.end) === '=>'); // prettier-ignore
  return [...pieces.slice(0, arrow + 1), ...body];
}

function hostBody(node: t.Function, host: HostForm, hasTwin: boolean): readonly Piece[] {
  const { file } = host;
  const { body } = node;
  const twin = hasTwin ? twinOf(node, file) : null;
  if (body.type !== 'BlockStatement') {
    const expression = host.expression(body);
    if (twin === null) return expression;
    const capturing = `${file.runtime}.mode.capture !== null ? `;
    // The parentheses around the body, if any, are around this.
    const isWrapped = body.extra?.parenthesized === true;
    const inner = [
      added(capturing, body.start!),
      ...reading(node, host, twin),
      added(' : '),
      ...expression,
    ];
    return isWrapped ? inner : [added('('), ...inner, added(')')];
  }
  const statements = body.body.map((statement) => host.statement(statement));
  const start =
    body.directives.length > 0 ? body.directives[body.directives.length - 1].end! : body.start! + 1;
  const pieces: Piece[] = [];
  let directiveEnd = body.start!;
  for (const { value } of body.directives) {
    if (value.value !== graphDirective) continue;
    // Otherwise `hybridize` would take the function for one that nobody has converted.
    pieces.push(
      ...host.gap(directiveEnd, value.end! - 1),
      added(` converted ${file.explain(node)}`.trimEnd()),
    );
    directiveEnd = value.end! - 1;
  }
  pieces.push(...host.gap(directiveEnd, start));
  const entry =
    twin === null
      ? []
      : [
          added(`if (${file.runtime}.mode.capture !== null) return `, start),
          ...reading(node, host, twin),
          added(';'),
        ];
  const declarations = host.declarations();
  if (entry.length > 0 || declarations !== '') {
    const isMarked = /[;{]/.test(file.parsed.code[start - 1]);
    pieces.push(added(`${isMarked ? '' : ';'} ${declarations}`), ...entry);
  }
  let at = start;
  body.body.forEach((statement, i) => {
    pieces.push(...host.gap(at, statement.start!), ...statements[i]);
    at = statement.end!;
  });
  return [...pieces, ...host.gap(at, body.end!)];
}

/** The captured form, after what it reads from outside has been told. */
function reading(node: t.Function, { file }: HostForm, twin: readonly Piece[]): readonly Piece[] {
  const reads = outsideReads(node, file);
  if (reads.length === 0) return twin;
  const name = 'id' in node && node.id ? node.id.name : 'a function';
  return [added(`(${file.runtime}.reads('${name}', ${reads.join(', ')}), `), ...twin, added(')')];
}

/** A call of the captured form with the parameters; null where it is the same as the host form. */
function twinOf(node: t.Function, file: FileContext): readonly Piece[] | null {
  const form = new CapturedForm(file, new FunctionFacts(node, file.scopes), node);
  const inside = form.statements();
  const isDifferent = inside.some((piece) => 'text' in piece && piece.text.includes(file.runtime));
  if (!isDifferent && !hasConvertedParameters(node, file)) return null;
  const names = copiedParameters(node, file.scopes);
  if (node.body.type !== 'BlockStatement') {
    return [
      added(`(${node.async ? 'async ' : ''}(${names.join(', ')}) => `),
      ...expressionBody(node, file, inside, true),
      added(`)(${names.join(', ')})`),
    ];
  }
  const declared = form.declarations() + declaredVars(node, file);
  if (isGenerator(node)) {
    const start = `yield* (${node.async ? 'async ' : ''}function* (${names.join(', ')}) { ${declared}`;
    return [added(start), ...inside, added(` }).call(${['this', ...names].join(', ')})`)];
  }
  if (!form.isReturnTold) {
    return [
      added(`(${node.async ? 'async ' : ''}(${names.join(', ')}) => { ${declared}`),
      ...inside,
      added(` })(${names.join(', ')})`),
    ];
  }
  return [
    added(`${file.runtime}.finish(((${[form.end, ...names].join(', ')}) => { ${declared}`),
    ...inside,
    added(` })(${['undefined', ...names].join(', ')}))`),
  ];
}

/** The body of a function that has the captured form only. */
function capturedBody(node: t.Function, form: CapturedForm): readonly Piece[] {
  const { file } = form;
  const inside = form.statements();
  if (node.body.type !== 'BlockStatement') return expressionBody(node, file, inside, false);
  const declared = form.declarations() + declaredVars(node, file);
  const start = [added('{ '), ...strictness(node.body, form), added(varsOf(redeclaredParameters(node)))]; // prettier-ignore
  if (!form.isReturnTold) return [...start, added(declared), ...inside, added(' }')];
  return [
    ...start,
    added(`return ${file.runtime}.finish(((${form.end}) => { ${declared}`),
    ...inside,
    added(` })()); }`),
  ];
}

/** The directives of a body other than that which has it converted. */
function strictness({ directives }: t.BlockStatement, form: Form): readonly Piece[] {
  return directives
    .filter(({ value }) => value.value !== graphDirective)
    .flatMap(({ value }) => [...form.gap(value.start!, value.end!), added('; ')]);
}

function isGenerator(node: t.Function): boolean {
  return 'generator' in node && node.generator === true;
}

/** The names of objects beside variables that belong to a function as a whole. */
function environmentsOf(node: t.Function, scopes: Scopes, runtime: string): readonly string[] {
  const scope = scopes.of.get(node) as Scope;
  return [...scope.bindings.values()]
    .filter(({ kind }) => kind === 'var' || kind === 'parameter')
    .flatMap((binding) => environmentOf(binding, runtime) ?? []);
}

/** Declarations of these objects. */
function declaredEnvironments(node: t.Function, scopes: Scopes, runtime: string): string {
  return environmentsOf(node, scopes, runtime).map((name) => `const ${name} = ${runtime}.environment(); `).join(''); // prettier-ignore
}

/**
 * The body of an arrow that is an expression, where these objects are declared: a block, which may wait as the
 * expression does. `isApart`: no parentheses are around it yet.
 */
function expressionBody(
  node: t.Function,
  { scopes, runtime }: FileContext,
  inside: readonly Piece[],
  isApart: boolean,
): readonly Piece[] {
  if (environmentsOf(node, scopes, runtime).length > 0) {
    return [
      added(`{ ${declaredEnvironments(node, scopes, runtime)}return (`),
      ...inside,
      added('); }'),
    ];
  }
  return isApart ? [added('('), ...inside, added(')')] : inside;
}

function varsOf(names: readonly string[]): string {
  return names.length === 0 ? '' : `var ${names.join(', ')}; `;
}

/** A declaration of the `var`s of a function: those in closures belong to it. */
function declaredVars(node: t.Function, { scopes, runtime }: FileContext): string {
  const scope = scopes.of.get(node) as Scope;
  const parameters = parameterNames(node);
  const names = [...scope.bindings.values()]
    .filter(({ kind, name }) => kind === 'var' && !parameters.includes(name))
    .map(({ name }) => name);
  return varsOf(names) + declaredEnvironments(node, scopes, runtime);
}
