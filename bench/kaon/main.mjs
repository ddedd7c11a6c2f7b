// Kaon as a contestant; see harness/serve.mjs.
import { readFileSync } from 'node:fs';
import { serve } from '../harness/serve.mjs';

serve(async () => {
  const { requireTier, telling } = await import('./tier.mjs');
  requireTier();
  const names = [
    'operators',
    'mlp',
    'lstm',
    'convolution',
    'networks',
    'loops',
    'examples',
    'plain',
  ];
  const modules = await Promise.all(names.map((name) => import(`./${name}.mjs`)));
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)));
  const told = (forms, reads) =>
    Object.fromEntries(Object.entries(forms).map(([form, make]) => [form, telling(make, reads)]));
  const kinds = modules.flatMap(({ kinds: own, reads = false }) =>
    Object.entries(own).map(([kind, forms]) => [kind, told(forms, reads)]),
  );
  return {
    versions: { kaon: version },
    kinds: Object.fromEntries(kinds),
  };
});
