// Modules of Node for files, in a browser: whoever calls them is told that there are none.
import { NotHere } from './test-runner.mjs';

const none = () => {
  throw new NotHere('a browser has no files');
};
export const mkdtemp = none;
export const readFile = none;
export const readdir = none;
export const rm = none;
export const writeFile = none;
export const tmpdir = none;
export const join = none;
export const inspect = () => {
  throw new NotHere('a browser does not print as Node does');
};
