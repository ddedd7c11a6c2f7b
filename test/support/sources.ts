import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout this compiled test belongs to: the nearest folder upwards that has a package.json. */
export const checkout: string = findUp(dirname(fileURLToPath(import.meta.url)));

function findUp(folder: string): string {
  if (readdirSync(folder).includes('package.json')) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('no package.json above the tests');
  return findUp(parent);
}

export interface SourceFile {
  /** Relative to the checkout, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript file below a folder of the checkout. */
export function sourceFiles(folder: string): readonly SourceFile[] {
  return readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const full = join(checkout, folder, path);
      return {
        path: relative(checkout, full).replaceAll('\\', '/'),
        text: readFileSync(full, 'utf8'),
      };
    });
}

/** The relative modules that a file imports or re-exports, as paths of the checkout ending in `.ts`. */
export function importsOf(file: SourceFile): readonly string[] {
  const found: string[] = [];
  for (const match of file.text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const target = resolve('/', dirname(file.path), match[1]).slice(1);
    found.push(target.replaceAll('\\', '/').replace(/\.js$/, '.ts'));
  }
  return found;
}
