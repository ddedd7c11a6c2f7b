import type { Environment, NodeModules } from './node.js';

/** Commands that may be C compilers, in the order in which they are tried. */
export function compilerCommands(
  node: NodeModules,
  env: Environment,
): readonly (readonly string[])[] {
  const { path } = node;
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const wanted = [env['KAON_CC'], env['CC'], 'cc', 'clang', 'gcc'];
  const commands = new Map<string, readonly string[]>();
  for (const command of wanted) {
    // As everywhere, `CC` may bring arguments along.
    const [name, ...args] = (command ?? '').split(/\s+/).filter((word) => word !== '');
    if (name === undefined) continue;
    const places = name.includes('/')
      ? [path.resolve(name)]
      : folders.map((folder) => path.join(folder, name));
    const found = places.find((place) => isExecutable(node, place));
    if (found !== undefined) commands.set([found, ...args].join(' '), [found, ...args]);
  }
  return [...commands.values()];
}

function isExecutable({ files }: NodeModules, path: string): boolean {
  try {
    files.accessSync(path, files.constants.X_OK);
    return files.statSync(path).isFile();
  } catch {
    return false;
  }
}
