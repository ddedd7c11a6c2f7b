// Reads the operators' own signatures and documentation from their sources.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { root } from '../setup.mjs';

/** Type parameters and parameters that stand for arrays in the operators' signatures. */
const tensorNames = new Set(['Tensor', 'DefaultTensor']);

const modules = new Map();

/** A source file with its declarations, imports and exports by name. */
export function moduleAt(path) {
  if (modules.has(path)) return modules.get(path);
  const text = readFileSync(join(root, path), 'utf8');
  const module = { path, text, declarations: new Map(), imports: new Map(), stars: [] };
  for (const statement of parseSync(path, text).program.body) readStatement(module, statement);
  modules.set(path, module);
  return module;
}

const resolved = (path, source) =>
  join(dirname(path), source).replaceAll('\\', '/').replace(/\.js$/, '.ts');

function readStatement(module, statement) {
  const from = statement.source && resolved(module.path, statement.source.value);
  if (statement.type === 'ImportDeclaration') {
    for (const { local, imported } of statement.specifiers) {
      module.imports.set(local.name, { path: from, name: imported?.name ?? '*' });
    }
  } else if (statement.type === 'ExportAllDeclaration') module.stars.push(from);
  else if (statement.type === 'ExportNamedDeclaration' && statement.declaration === null) {
    for (const { local, exported } of statement.specifiers) {
      module.imports.set(exported.name, { path: from ?? module.path, name: local.name });
    }
  } else {
    const isExported = statement.type === 'ExportNamedDeclaration';
    const declaration = isExported ? statement.declaration : statement;
    const doc = docBefore(module.text, statement.start);
    for (const each of declaration?.declarations ?? [declaration]) {
      const name = each?.id?.name;
      if (name === undefined) continue;
      const known = module.declarations.get(name) ?? { module, name, isExported, doc, nodes: [] };
      known.nodes.push(each);
      module.declarations.set(name, known);
    }
  }
}

/** The documentation directly before a statement, without its stars; empty where there is none. */
function docBefore(text, start) {
  const before = text.slice(0, start);
  if (!/\*\/\s*$/.test(before)) return '';
  const comment = before.slice(before.lastIndexOf('/*'));
  if (!comment.startsWith('/**')) return '';
  return comment
    .replace(/^\/\*\*\s?/, '')
    .replace(/\s*\*\/\s*$/, '')
    .replace(/^\s*\* ?/gm, '')
    .trim();
}

/** What a name in a module stands for, through imports and re-exports. */
export function lookup(module, name) {
  const own = module.declarations.get(name);
  if (own !== undefined) return own;
  const imported = module.imports.get(name);
  if (imported !== undefined) return lookup(moduleAt(imported.path), imported.name);
  for (const path of module.stars) {
    const found = lookup(moduleAt(path), name);
    if (found?.isExported) return found;
  }
  return undefined;
}

/** Every name that a module exports, with its declaration. */
export function exportsOf(path) {
  const module = moduleAt(path);
  const found = new Map();
  for (const star of module.stars)
    for (const [name, each] of exportsOf(star)) found.set(name, each);
  for (const [name, { path: from, name: own }] of module.imports) {
    const isOwn = from === path;
    const isReexport = new RegExp(`export (type )?\\{[^}]*\\b${name}\\b`).test(module.text);
    if (isOwn || isReexport) found.set(name, lookup(moduleAt(from), own));
  }
  for (const [name, each] of module.declarations) if (each.isExported) found.set(name, each);
  return found;
}

/**
 * The signature behind a declaration of a value: `{ module, params, returns, bindings }`, where bindings are the
 * arguments of a generic alias. Undefined for what is no function over arrays.
 */
export function signatureOf({ module, nodes: [node] }) {
  if (node.type === 'FunctionDeclaration')
    return functionSignature(module, node, node.typeParameters);
  const annotation = node.id?.typeAnnotation?.typeAnnotation;
  return annotation && typeSignature(module, annotation);
}

function typeSignature(module, type, bindings = new Map()) {
  if (type.type === 'TSFunctionType')
    return functionSignature(module, type, type.typeParameters, bindings);
  if (type.type !== 'TSTypeReference') return undefined;
  const { name } = type.typeName;
  const given = type.typeArguments?.params ?? [];
  if (name === 'OperatorFunction') return typeSignature(module, given[0]);
  const alias = lookup(module, name);
  const [node] = alias?.nodes ?? [];
  if (node?.type !== 'TSTypeAliasDeclaration') return undefined;
  const inner = new Map(
    (node.typeParameters?.params ?? []).map((parameter, i) => [
      parameter.name.name,
      { module, type: given[i] },
    ]),
  );
  return typeSignature(alias.module, node.typeAnnotation, inner);
}

function functionSignature(module, node, typeParameters, bindings = new Map()) {
  const tensors = (typeParameters?.params ?? []).filter(
    ({ constraint }) => constraint?.typeName?.name === 'Tensor',
  );
  if (tensors.length !== 1 || typeParameters.params.length !== 1) return undefined;
  const params = node.params.map((param) => {
    const rest = param.type === 'RestElement';
    const inner = rest ? param.argument : param.type === 'AssignmentPattern' ? param.left : param;
    const annotation = inner.typeAnnotation ?? param.typeAnnotation;
    const optional = param.type === 'AssignmentPattern' || inner.optional === true;
    return { name: inner.name, rest, optional, type: annotation.typeAnnotation };
  });
  const tensor = tensors[0].name.name;
  return { module, tensor, params, returns: node.returnType.typeAnnotation, bindings };
}

/** Every node below one, itself included. */
export function* nodesIn(node) {
  if (Array.isArray(node)) for (const each of node) yield* nodesIn(each);
  else if (typeof node?.type === 'string') {
    yield node;
    for (const child of Object.values(node)) if (typeof child === 'object') yield* nodesIn(child);
  }
}

/** Whether a type holds operands. */
export const holdsOperand = (type) =>
  [...nodesIn(type)].some(
    (node) => node.type === 'TSTypeReference' && node.typeName.name === 'Input',
  );

/**
 * The text of a type where arrays stand in the place of tensors. `operand` and `result` give the texts for
 * operands and for results; `dtype` that for a dtype that is chosen, or undefined. Names of other modules are noted in `used`.
 */
export function typeText(signature, type, { operand, result, dtype, used }) {
  const { module, tensor, bindings } = signature;
  const replace = (node) => {
    if (node.type !== 'TSTypeReference') return undefined;
    const { name } = node.typeName;
    if (name === 'Input') return operand();
    if (name === tensor) return result();
    if (tensorNames.has(name)) return 'NDArray';
    if (name === 'DType' && dtype !== undefined) return dtype;
    const bound = bindings.get(name);
    if (bound !== undefined) {
      return typeText({ ...signature, module: bound.module, bindings: new Map() }, bound.type, {
        operand,
        result,
        dtype,
        used,
      });
    }
    const found = lookup(module, name);
    if (found === undefined) return undefined; // of the standard library
    if (!found.isExported)
      throw new Error(`${found.module.path}: ${name} is part of a signature and not exported`);
    used.set(name, found.module.path);
    const given = (found.nodes[0].typeParameters?.params ?? []).map(({ constraint }) =>
      tensorNames.has(constraint?.typeName?.name)
        ? 'NDArray'
        : constraint?.typeName?.name === 'DType'
          ? (dtype ?? 'DType')
          : undefined,
    );
    if (given.includes('DType')) used.set('DType', 'src/base/dtype.ts');
    return given.length > 0 && given.every(Boolean) ? `${name}<${given.join(', ')}>` : undefined;
  };
  const print = (node) => {
    const text = replace(node);
    if (text !== undefined) return text;
    const children = Object.values(node)
      .flat()
      .filter((child) => typeof child?.type === 'string')
      .sort((a, b) => a.start - b.start);
    let printed = '';
    let at = node.start;
    for (const child of children) {
      printed += sourceOf(node, at, child.start) + print(child);
      at = child.end;
    }
    return printed + sourceOf(node, at, node.end);
  };
  const sourceOf = (_node, from, to) => module.text.slice(from, to);
  return print(type);
}
