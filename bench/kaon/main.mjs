// Kaon as a contestant; see harness/serve.mjs.
import { readFileSync } from 'node:fs';
import { serve } from '../harness/serve.mjs';

serve(async () => {
  const { requireTier } = await import('./tier.mjs');
  requireTier();
  const names = ['operators', 'mlp', 'lstm', 'convolution', 'loops', 'examples'];
  const modules = await Promise.all(names.map((name) => import(`./${name}.mjs`)));
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)));
  return {
    versions: { kaon: version },
    kinds: Object.assign({}, ...modules.map(({ kinds }) => kinds)),
  };
});
