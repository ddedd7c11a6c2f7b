/** Functions that converted code calls. Not for users: `kaon/source` writes the calls. */
/** While `capture` is not null, arrays decide when the graph runs: converted code then runs its captured form. */
export { mode } from '../core/mode.js';
export { assignMember, assignPlace, rows, subject, test } from './host.js';
export { before, beforeMember, hostOnly, op, step, stepMember, unary, update } from './numbers.js';
export { vars } from './variables.js';
export { brk, cont, end, finish, follow, ret } from './completion.js';
export { and, branch, labeled, not, or, pick, select } from './branch.js';
export { guardWith, resumed, suspended, suspensions, target, thrown, undecided } from './path.js';
export { collection, made } from './row-list.js';
export { each, loop } from './loops.js';
export { caught, guard } from './guarded.js';
export { reads } from './reads.js';
