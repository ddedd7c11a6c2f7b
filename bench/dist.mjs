// The compiled project: that of this checkout, or the folder that the variable KAON_DIST names.
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = process.env.KAON_DIST ?? fileURLToPath(new URL('../dist', import.meta.url));

/** Its address, which ends with a slash. */
export const distFolder = pathToFileURL(`${resolve(folder)}/`);

/** A module of it. */
export const load = (path) => import(new URL(path, distFolder));
