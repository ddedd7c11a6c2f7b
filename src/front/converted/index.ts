/** Functions that converted code calls. Not for users: `kaon/source` writes the calls. */
/** While `capture` is not null, arrays decide when the graph runs: converted code then runs its captured form. */
export { mode } from '../core/mode.js';
export { caught, guard, rows, subject, test } from './values/host.js';
export {
  before,
  hostMethod,
  hostOnly,
  kind,
  math,
  numeric,
  op,
  step,
  unary,
} from './values/numbers.js';
export { vars } from './values/variables.js';
export { brk, cont, end, finish, follow, ret } from './completion.js';
export {
  and,
  booleanOf,
  branch,
  chain,
  labeled,
  not,
  nullish,
  or,
  pick,
  select,
} from './branch.js';
export { guardWith, resumed, suspended, suspensions, thrown, undecided } from './values/path.js';
export {
  assignAll,
  assignIf,
  increment,
  member,
  setMember,
  syntaxMember,
  update,
} from './member-writes.js';
export { iterated } from './values/host-changes.js';
export { changing, environment, target, writing } from './values/tracking.js';
export { collection, entry, fromEnd, made } from './lists/list-proxy.js';
export { spread } from './list-methods.js';
export { each, loop } from './loops.js';
export { reads } from '../fields/reads.js';
