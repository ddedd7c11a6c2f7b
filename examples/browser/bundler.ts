import type { UserConfig } from 'vite';

/** Threads share memory only in pages that are isolated from others. */
const isolated = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

const config: UserConfig = {
  root: import.meta.dirname,
  base: './',
  worker: { format: 'es' },
  build: { outDir: '../../.build/browser', emptyOutDir: true, target: 'es2022' },
  server: { headers: isolated },
  preview: { headers: isolated },
};

export default config;
