/** What converted code calls. Not for users: `kaon/source` writes the calls. */
export { capturing, rows, subject, test } from './host.js';
export { before, beforeMember, op, step, stepMember, unary, update } from './numbers.js';
export { vars } from './variables.js';
export { brk, cont, end, finish, follow, ret } from './completion.js';
export {
  and,
  branch,
  collection,
  labeled,
  not,
  or,
  pick,
  target,
  thrown,
  undecided,
} from './choose.js';
export { each, loop } from './loops.js';
export { select } from './select.js';
