import { existsSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';

/**
 * Everything that the published declarations let users call. Read from the files that `package.json` names, so
 * that a new function, method or option is called by the campaign without anybody adding it.
 */

/** Options of one parameter, by name. */
export interface ParameterFacts {
  readonly name: string;
  readonly isOptional: boolean;
  /** Names of the fields where the parameter is an object of options. */
  readonly options: readonly string[];
}

export interface Callable {
  /** As users write it: `nn.Dense`, `NDArray#sum`, `StaticGraph.fromJSON`. */
  readonly path: string;
  readonly kind: 'function' | 'class' | 'method' | 'static' | 'getter' | 'setter';
  readonly parameters: readonly ParameterFacts[];
}

/** A node of the syntax tree (ESTree with TypeScript's own nodes). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

interface Module {
  readonly file: string;
  readonly text: string;
  readonly body: readonly Node[];
}

/** A declaration, and the module whose names it speaks in. */
interface Found {
  readonly node: Node;
  readonly module: Module;
  /** Where the doc comment ends. */
  readonly start: number;
}

const modules = new Map<string, Module>();

function moduleAt(file: string): Module {
  let module = modules.get(file);
  if (module === undefined) {
    const text = readFileSync(file, 'utf8');
    // Declarations hold no runtime syntax, but the tree is the same ESTree.
    const { body } = parseAst(text, { lang: 'dts' }) as unknown as { body: readonly Node[] };
    modules.set(file, (module = { file, text, body }));
  }
  return module;
}

/** The declaration file behind a specifier; undefined for packages. */
function resolve(from: Module, specifier: string): Module | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const file = new URL(specifier.replace(/\.js$/, '.d.ts'), `file://${from.file}`).pathname;
  return existsSync(file) ? moduleAt(file) : undefined;
}

/** The parser leaves some fields out and sets others to null. */
const isAbsent = (value: unknown): value is null | undefined =>
  value === null || value === undefined;
const nodeOf = (value: unknown): Node => value as Node;
const nodesOf = (value: unknown): readonly Node[] => (value ?? []) as readonly Node[];
const nameOf = (value: unknown): string => {
  const node = nodeOf(value);
  return String(node.type === 'Literal' ? node['value'] : node['name']);
};

/** What a module exports under a name, or declares or imports where `isLocal`. */
function lookUp(module: Module, name: string, isLocal = false): Found | undefined {
  let merged: Found | undefined;
  for (const statement of module.body) {
    const inner = isAbsent(statement['declaration']) ? statement : nodeOf(statement['declaration']);
    const start = statement.start;
    if (inner.type === 'VariableDeclaration') {
      for (const each of nodesOf(inner['declarations'])) {
        if (nameOf(each['id']) === name) return { node: each, module, start };
      }
    } else if (!isAbsent(inner['id']) && nameOf(inner['id']) === name) {
      // A class may have an interface of its name beside it, for members that are put there at run time.
      if (inner.type !== 'TSInterfaceDeclaration') return { node: inner, module, start };
      merged ??= { node: inner, module, start };
    }
    if (statement.type === 'ImportDeclaration' && isLocal) {
      for (const each of nodesOf(statement['specifiers'])) {
        if (nameOf(each['local']) !== name || each['imported'] === undefined) continue;
        const target = resolve(module, String(nodeOf(statement['source'])['value']));
        return target && lookUp(target, nameOf(each['imported']));
      }
    }
    if (statement.type === 'ExportNamedDeclaration') {
      for (const each of nodesOf(statement['specifiers'])) {
        if (nameOf(each['exported']) !== name) continue;
        const source = statement['source'];
        if (isAbsent(source)) return lookUp(module, nameOf(each['local']), true);
        const target = resolve(module, String(nodeOf(source)['value']));
        return target && lookUp(target, nameOf(each['local']));
      }
    }
  }
  if (isLocal || merged !== undefined) return merged;
  for (const statement of module.body) {
    if (statement.type !== 'ExportAllDeclaration' || !isAbsent(statement['exported'])) continue;
    const target = resolve(module, String(nodeOf(statement['source'])['value']));
    const found = target && lookUp(target, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Names that a module exports, with the modules that it exports as namespaces. */
function exportsOf(module: Module): { names: Set<string>; namespaces: Map<string, Module> } {
  const names = new Set<string>();
  const namespaces = new Map<string, Module>();
  for (const statement of module.body) {
    const source = statement['source'];
    const target = isAbsent(source) ? undefined : resolve(module, String(nodeOf(source)['value']));
    if (statement.type === 'ExportAllDeclaration') {
      if (target === undefined) continue;
      if (!isAbsent(statement['exported'])) namespaces.set(nameOf(statement['exported']), target);
      else {
        const inner = exportsOf(target);
        for (const name of inner.names) names.add(name);
        for (const [name, each] of inner.namespaces) namespaces.set(name, each);
      }
    }
    if (statement.type !== 'ExportNamedDeclaration') continue;
    for (const each of nodesOf(statement['specifiers'])) names.add(nameOf(each['exported']));
    if (isAbsent(statement['declaration'])) continue;
    const inner = nodeOf(statement['declaration']);
    if (!isAbsent(inner['id'])) names.add(nameOf(inner['id']));
    for (const each of nodesOf(inner['declarations'])) names.add(nameOf(each['id']));
  }
  return { names, namespaces };
}

function isInternal(text: string, start: number): boolean {
  const before = text.slice(0, start).trimEnd();
  if (!before.endsWith('*/')) return false;
  return before.slice(before.lastIndexOf('/**')).includes('@internal');
}

/** The type behind references, with the module whose names it speaks in; null where it cannot be told. */
function unfold(type: Node, module: Module, depth = 0): { type: Node; module: Module } | null {
  if (depth > 12) return null;
  if (type.type === 'TSParenthesizedType') {
    return unfold(nodeOf(type['typeAnnotation']), module, depth + 1);
  }
  if (type.type !== 'TSTypeReference') return { type, module };
  const name = nodeOf(type['typeName']);
  if (name.type !== 'Identifier') return null;
  const args = isAbsent(type['typeArguments'])
    ? []
    : nodesOf(nodeOf(type['typeArguments'])['params']);
  const wrappers = ['OperatorFunction', 'Partial', 'Readonly', 'Omit', 'Pick', 'Required'];
  if (wrappers.includes(nameOf(name)) && args.length > 0) return unfold(args[0], module, depth + 1);
  const found = lookUp(module, nameOf(name), true);
  if (found === undefined) return null;
  if (found.node.type === 'TSTypeAliasDeclaration') {
    return unfold(nodeOf(found.node['typeAnnotation']), found.module, depth + 1);
  }
  return { type: found.node, module: found.module };
}

/** The names of the fields of an object type. */
function fieldsOf(given: Node, from: Module, depth = 0): readonly string[] {
  const unfolded = unfold(given, from);
  if (unfolded === null || depth > 8) return [];
  const { type, module } = unfolded;
  switch (type.type) {
    case 'TSTypeLiteral':
      return keysOf(nodesOf(type['members']));
    case 'TSInterfaceDeclaration': {
      const inherited = nodesOf(type['extends']).flatMap((parent) => {
        const name = nodeOf(parent['expression']);
        const found = name.type === 'Identifier' && lookUp(module, nameOf(name), true);
        return found ? fieldsOf(found.node, found.module, depth + 1) : [];
      });
      return [...inherited, ...keysOf(nodesOf(nodeOf(type['body'])['body']))];
    }
    case 'TSUnionType':
    case 'TSIntersectionType':
      return nodesOf(type['types']).flatMap((each) => fieldsOf(each, module, depth + 1));
    default:
      return [];
  }
}

function keysOf(members: readonly Node[]): readonly string[] {
  return members
    .filter((member) => member.type === 'TSPropertySignature' && member['computed'] !== true)
    .map((member) => nameOf(member['key']));
}

function parametersOf(params: unknown, signature: Node, module: Module): readonly ParameterFacts[] {
  const bounds = new Map<string, Node>();
  const generics = signature['typeParameters'];
  for (const each of nodesOf(isAbsent(generics) ? [] : nodeOf(generics)['params'])) {
    if (!isAbsent(each['constraint'])) bounds.set(nameOf(each['name']), nodeOf(each['constraint']));
  }
  return nodesOf(params).map((param, i) => {
    const annotation = param['typeAnnotation'];
    let type = isAbsent(annotation) ? null : nodeOf(nodeOf(annotation)['typeAnnotation']);
    if (type?.type === 'TSTypeReference' && nodeOf(type['typeName']).type === 'Identifier') {
      type = bounds.get(nameOf(type['typeName'])) ?? type;
    }
    return {
      name: param.type === 'Identifier' ? nameOf(param) : `argument ${i}`,
      isOptional: param['optional'] === true || param.type === 'RestElement',
      options: type === null ? [] : [...new Set(fieldsOf(type, module))],
    };
  });
}

/** The callables of one exported name: a function, or a class with its members. */
function callablesOf(path: string, { node, module, start }: Found): readonly Callable[] {
  if (isInternal(module.text, start)) return [];
  if (node.type === 'TSDeclareFunction') {
    return [{ path, kind: 'function', parameters: parametersOf(node['params'], node, module) }];
  }
  if (node.type === 'VariableDeclarator') {
    const annotation = nodeOf(node['id'])['typeAnnotation'];
    if (isAbsent(annotation)) return [];
    const type = unfold(nodeOf(nodeOf(annotation)['typeAnnotation']), module);
    if (type === null) return [];
    const signatures = type.type.type === 'TSIntersectionType' ? nodesOf(type.type['types']) : [type.type]; // prettier-ignore
    for (const each of signatures) {
      const signature = unfold(each, type.module);
      if (signature?.type.type !== 'TSFunctionType') continue;
      const parameters = parametersOf(signature.type['params'], signature.type, signature.module);
      return [{ path, kind: 'function', parameters }];
    }
    return [];
  }
  return node.type === 'ClassDeclaration' ? classMembers(path, node, module) : [];
}

/** Where the methods stand that are on the list already. */
const calledMembers = new Set<string>();

function classMembers(path: string, node: Node, module: Module): readonly Callable[] {
  const members = new Map<string, Callable>();
  /** Classes with a constructor that is not published are made by functions. */
  let isMadeElsewhere = false;
  /** Members that a published class inherits from another one are called on that one alone. */
  const visit = (each: Node, from: Module): void => {
    if (!isAbsent(each['superClass'])) {
      const parent = lookUp(from, nameOf(each['superClass']), true);
      if (parent !== undefined) visit(parent.node, parent.module);
    }
    for (const member of nodesOf(nodeOf(each['body'])['body'])) {
      const key = nodeOf(member['key']);
      if (!member.type.endsWith('MethodDefinition') || key.type !== 'Identifier') continue;
      if (member['computed'] === true) continue;
      const isHidden = member['accessibility'] === 'private' || member['accessibility'] === 'protected'; // prettier-ignore
      if (isHidden && member['kind'] === 'constructor') isMadeElsewhere = true;
      if (isHidden || isInternal(from.text, member.start)) continue;
      const name = nameOf(key);
      const place = `${from.file}:${member.start}`;
      if (member['kind'] !== 'constructor') {
        if (calledMembers.has(place)) continue;
        calledMembers.add(place);
      }
      const value = nodeOf(member['value']);
      const parameters = parametersOf(value['params'], value, from);
      if (member['kind'] === 'constructor') {
        members.set('', { path, kind: 'class', parameters });
      } else {
        const kind =
          member['kind'] === 'get' ? 'getter' : member['kind'] === 'set' ? 'setter' : member['static'] === true ? 'static' : 'method'; // prettier-ignore
        const spelled = `${path}${kind === 'static' ? '.' : '#'}${name}`;
        members.set(`${spelled} ${kind}`, { path: spelled, kind, parameters });
      }
    }
  };
  visit(node, module);
  if (node['abstract'] === true) members.delete('');
  else if (!members.has('') && !isMadeElsewhere) {
    members.set('', { path, kind: 'class', parameters: [] });
  }
  return [...members.values()];
}

/** Every callable that an entry of the package publishes; `prefix` is put before the names. */
export function publishedCallables(entry: string, prefix = ''): readonly Callable[] {
  const module = moduleAt(entry);
  const { names, namespaces } = exportsOf(module);
  const own = [...names].flatMap((name) => {
    const found = lookUp(module, name);
    return found === undefined ? [] : callablesOf(`${prefix}${name}`, found);
  });
  const inner = [...namespaces].flatMap(([name, each]) =>
    publishedCallables(each.file, `${prefix}${name}.`),
  );
  return [...own, ...inner];
}
