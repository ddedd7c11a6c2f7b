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
  const kinds = modules.flatMap((module) => Object.entries(module.kinds));
  const told = (forms) =>
    Object.fromEntries(Object.entries(forms).map(([form, make]) => [form, telling(make)]));
  return {
    versions: { kaon: version },
    kinds: Object.fromEntries(kinds.map(([kind, forms]) => [kind, told(forms)])),
  };
});
