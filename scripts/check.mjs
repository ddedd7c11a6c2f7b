// Format and lint; types are checked by compiling.
import { run } from './setup.mjs';

run(process.execPath, [
  'node_modules/prettier/bin/prettier.cjs',
  '--check',
  '--log-level',
  'warn',
  '.',
]);
run(process.execPath, ['node_modules/oxlint/bin/oxlint', '--deny-warnings']);
