// Every kind of work that Kaon does, in every form of it.
import { telling } from './tier.mjs';

const names = ['operators', 'mlp', 'lstm', 'convolution', 'networks', 'loops', 'examples', 'plain'];

const told = (forms, reads) =>
  Object.fromEntries(Object.entries(forms).map(([form, make]) => [form, telling(make, reads)]));

/** `kinds[kind][form]`, as `serve` takes them. */
export async function kindsOf() {
  const modules = await Promise.all(names.map((name) => import(`./${name}.mjs`)));
  const kinds = modules.flatMap(({ kinds: own, reads = false }) =>
    Object.entries(own).map(([kind, forms]) => [kind, told(forms, reads)]),
  );
  return Object.fromEntries(kinds);
}
