import { readFileSync, writeSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { UnsupportedError } from '../base/errors.js';
import { convertedSource, isConvertible } from './module-source.js';

/*
 * Functions with the directive `'use graph'` are converted when Node loads their files. Node 22.15 and later
 * call the hook in the same thread, for `require` too. Node 20 loads this file once more in the thread of its
 * loader, where what it exports are the hooks.
 */

/** The part of what Node's default loading gives, and of what a hook returns, that is used. */
interface LoadedSource {
  readonly format?: string | null | undefined;
  readonly source?: string | ArrayBuffer | NodeJS.TypedArray | null | undefined;
  readonly shortCircuit?: boolean;
}

interface LoadContext {
  readonly format?: string | null | undefined;
}

/** Function of Node 22.15 and later, which the types of Node 20 lack. */
type RegisterHooks = (hooks: {
  load(
    url: string,
    context: LoadContext,
    nextLoad: (url: string, context: LoadContext) => LoadedSource,
  ): LoadedSource;
}) => void;

const { registerHooks } = nodeModule as unknown as { readonly registerHooks?: RegisterHooks };

/** The search of the URL under which Node 20 loads this file as hooks. */
const asHooks = '?hooks';

/** Loading with conversion, in the thread of Node 20's loader. */
export async function load(
  url: string,
  context: LoadContext,
  nextLoad: (url: string, context: LoadContext) => Promise<LoadedSource>,
): Promise<LoadedSource> {
  const loaded = await nextLoad(url, context);
  const converted = convertLoaded(url, context, loaded);
  if (loaded.format !== 'commonjs') return converted;
  if (converted === loaded) {
    warnOfRequire(url, loaded);
    return loaded;
  }
  // Code of CommonJS that a hook of this thread gives cannot require ES modules such as Kaon's.
  throw new UnsupportedError(`${url} is a CommonJS module, which this Node cannot convert`, {
    op: 'kaon/register',
    expected: "an ES module, or Node 22.15 and later for functions with 'use graph' in CommonJS",
    actual: `Node ${process.versions.node}`,
    advice: 'write the file as an ES module (.mjs)',
  });
}

let isWarned = false;

/** Says once that files which a module of the program requires are not seen: their functions stay as they are. */
function warnOfRequire(url: string, { source }: LoadedSource): void {
  if (isWarned || !url.startsWith('file:') || url.includes('/node_modules/')) return;
  const text = source === null || source === undefined ? readFileSync(new URL(url), 'utf8') : textOf(source); // prettier-ignore
  if (!/\brequire\s*\(\s*['"`]\.{1,2}\//.test(text)) return;
  isWarned = true;
  // Warnings that this thread emits are not printed.
  writeSync(
    2, // of the process; a worker's own stream has none
    `kaon/register: Node ${process.versions.node} does not convert what ${url} requires: functions with 'use graph' ` +
      'in CommonJS need Node 22.15, or ES modules\n',
  );
}

function convertLoaded(url: string, context: LoadContext, loaded: LoadedSource): LoadedSource {
  const format = loaded.format ?? context.format ?? null;
  if (!isConvertible(url, format)) return loaded;
  const { source } = loaded;
  // Node reads files of CommonJS later, unless a hook has.
  const text = source === null || source === undefined ? readFileSync(new URL(url), 'utf8') : textOf(source); // prettier-ignore
  const converted = convertedSource(text, url, format);
  return converted === null ? loaded : { ...loaded, source: converted, shortCircuit: true };
}

function textOf(source: NonNullable<LoadedSource['source']>): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}

if (registerHooks !== undefined) {
  registerHooks({
    load: (url, context, nextLoad) => convertLoaded(url, context, nextLoad(url, context)),
  });
} else if (new URL(import.meta.url).search !== asHooks) {
  nodeModule.register(new URL(asHooks, import.meta.url));
}
