// Writes the declarations that the package ships: of those that were compiled, what its entry points reach.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';

/** Files of declarations by path, read when they are first reached. */
class Declarations {
  #modules = new Map();

  /** Marks all that a module exports as reached. */
  reachAll(path) {
    const module = this.#moduleAt(path);
    if (module.isWhole) return;
    module.isWhole = true;
    for (const statement of module.statements) {
      const { node, from } = statement;
      if (node.type === 'ExportAllDeclaration') {
        statement.isReached = true;
        this.reachAll(from);
      } else if (node.type === 'ExportNamedDeclaration') {
        for (const name of statement.names.keys()) this.reach(path, name);
      } else if (node.type === 'ExportDefaultDeclaration') this.#mark(module, statement);
    }
  }

  /** Marks what a name means in a module as reached; says whether it means anything there. */
  reach(path, name) {
    const module = this.#moduleAt(path);
    const before = module.reached.get(name);
    if (before !== undefined) return before;
    module.reached.set(name, true); // for those that refer to themselves
    let isFound = false;
    for (const statement of module.statements) {
      if (!statement.names.has(name)) continue;
      isFound = true;
      statement.reachedNames.add(name);
      if (statement.from === null) this.#mark(module, statement);
      else {
        statement.isReached = true;
        const imported = statement.names.get(name);
        if (imported === '*') this.reachAll(statement.from);
        else if (statement.from !== undefined) this.reach(statement.from, imported);
      }
    }
    for (const statement of isFound ? [] : module.statements) {
      if (statement.node.type !== 'ExportAllDeclaration' || statement.node.exported !== null)
        continue;
      if (!this.reach(statement.from, name)) continue;
      statement.isReached = isFound = true;
      break;
    }
    module.reached.set(name, isFound);
    return isFound;
  }

  /** A statement that declares, or exports what the module has declared, and all that it speaks of. */
  #mark(module, statement) {
    if (statement.isReached && statement.node.source === undefined && statement.isDeclaration)
      return;
    statement.isReached = true;
    for (const name of statement.isDeclaration
      ? referencesOf(statement.node)
      : [...statement.reachedNames].map((each) => statement.names.get(each))) {
      if (module.topLevel.has(name)) this.reach(module.path, name);
    }
  }

  #moduleAt(path) {
    let module = this.#modules.get(path);
    if (module !== undefined) return module;
    const text = readFileSync(path, 'utf8');
    const statements = parseSync(path, text, { lang: 'dts' }).program.body.map((node) =>
      readStatement(path, node),
    );
    const topLevel = new Set(
      statements
        .filter(({ node }) => node.type !== 'ExportNamedDeclaration' || node.declaration !== null)
        .flatMap(({ names }) => [...names.keys()]),
    );
    module = { path, text, statements, topLevel, reached: new Map(), isWhole: false };
    this.#modules.set(path, module);
    return module;
  }

  /** The text of every file that is reached, by path. */
  *texts() {
    for (const [path, module] of this.#modules) {
      let text = '';
      let end = 0;
      for (const statement of module.statements) {
        const before = module.text.slice(end, statement.node.start);
        end = statement.node.end;
        if (statement.isReached) text += `${before.trimStart()}${printed(module, statement)}\n`;
      }
      if (text !== '') yield [path, text];
    }
  }
}

/** A statement with the names that it brings into its module, or out of it, and what they are called where they come from. */
function readStatement(path, node) {
  const source = node.source?.value;
  const from =
    source === undefined
      ? null
      : source.startsWith('.')
        ? join(dirname(path), source.replace(/\.js$/, '.d.ts'))
        : undefined;
  const names = new Map();
  const inner = node.declaration ?? node;
  for (const { id } of inner.declarations ?? [inner])
    if (id?.name !== undefined) names.set(id.name, id.name);
  for (const each of node.specifiers ?? []) {
    const isImport = node.type === 'ImportDeclaration';
    const [here, there] = isImport ? [each.local, each.imported] : [each.exported, each.local];
    names.set(here.name, there?.name ?? (each.type === 'ImportDefaultSpecifier' ? 'default' : '*'));
  }
  if (node.type === 'ExportAllDeclaration' && node.exported !== null)
    names.set(node.exported.name, '*');
  const isDeclaration =
    node.type !== 'ImportDeclaration' &&
    node.type !== 'ExportAllDeclaration' &&
    !(node.type === 'ExportNamedDeclaration' && node.declaration === null);
  return { node, from, names, isDeclaration, isReached: false, reachedNames: new Set() };
}

/** The names that a declaration speaks of. */
function referencesOf(declaration) {
  const found = new Set();
  const visit = (node) => {
    if (Array.isArray(node)) node.forEach(visit);
    else if (typeof node?.type === 'string') {
      if (node.type === 'Identifier') found.add(node.name);
      for (const [key, child] of Object.entries(node)) {
        if (key !== 'implements' && typeof child === 'object') visit(child);
      }
    }
  };
  visit(declaration);
  return found;
}

/** The text of a statement, of which only what is reached of its names is left. */
function printed({ text }, { node, reachedNames, names }) {
  if (
    node.type === 'ImportDeclaration' ||
    (node.type === 'ExportNamedDeclaration' && node.declaration === null)
  ) {
    if (reachedNames.size === names.size) return text.slice(node.start, node.end);
    const kept = node.specifiers.filter((each) =>
      reachedNames.has((each.exported ?? each.local).name),
    );
    const keyword = node.type === 'ImportDeclaration' ? 'import' : 'export';
    const isType = (node.importKind ?? node.exportKind) === 'type';
    const source =
      node.source === null ? '' : ` from ${text.slice(node.source.start, node.source.end)}`;
    return `${keyword}${isType ? ' type' : ''} { ${kept.map(({ start, end }) => text.slice(start, end)).join(', ')} }${source};`;
  }
  // That a class fits an interface of ours is no matter of its users, who see its members.
  const [first] = (node.declaration ?? node).implements ?? [];
  if (first === undefined) return text.slice(node.start, node.end);
  const last = (node.declaration ?? node).implements.at(-1);
  const head = text.slice(node.start, first.start).replace(/\s*implements\s*$/, '');
  return head + text.slice(last.end, node.end);
}

/** Writes into `to` what the entries, files below `from`, reach. */
export function writeDeclarations(entries, from, to) {
  const declarations = new Declarations();
  for (const entry of entries) declarations.reachAll(resolve(from, entry));
  for (const [path, text] of declarations.texts()) {
    const target = join(to, relative(resolve(from), path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}
