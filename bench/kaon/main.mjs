// Kaon as a contestant; see harness/serve.mjs.
import { readFileSync } from 'node:fs';
import { serve } from '../harness/serve.mjs';

serve(async () => {
  const [{ requireTier }, { kindsOf }] = await Promise.all(
    ['tier', 'kinds'].map((name) => import(`./${name}.mjs`)),
  );
  requireTier();
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)));
  return { versions: { kaon: version }, kinds: await kindsOf() };
});
