// The compiled library: that of this checkout, or of the folder that the variable KAON_DIST names.
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = process.env.KAON_DIST ?? fileURLToPath(new URL('../dist', import.meta.url));

/** The folder of the compiled project, as a URL that ends with a slash. */
export const distFolder = pathToFileURL(`${resolve(folder)}/`);

/** A module of the compiled project. */
export const load = (path) => import(new URL(path, distFolder));

export const kn = await load('src/index.js');
