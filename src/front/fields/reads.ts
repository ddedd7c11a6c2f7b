import { noteFields } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { type OutsideRead, outsideHolder } from './outside.js';

/** Limit of guarded instances of one function in one trace: others are compared as other code is. */
const mostInstances = 64;

/** The numbers of guarded instances by trace, and by function. */
const instances = new WeakMap<object, Map<string, number>>();

/** Notes what a function reads from outside: another value is another trace. */
export function reads(name: string, ...values: readonly OutsideRead[]): void {
  let { capture } = mode;
  while (capture !== null && capture.parent !== null) capture = capture.parent;
  const fields = capture?.fields;
  if (fields === undefined || fields === null) return;
  let counts = instances.get(fields);
  if (counts === undefined) instances.set(fields, (counts = new Map<string, number>()));
  const key = [name, ...values.map(([, ...path]) => path.join('.'))].join();
  const count = counts.get(key) ?? 0;
  if (count >= mostInstances) return;
  counts.set(key, count + 1);
  noteFields(outsideHolder(values), `outside of ${name}`);
}
