// Format and lint, our own rule for arrays included; types are checked by compiling.
import { run } from './setup.mjs';

run(process.execPath, [
  'node_modules/prettier/bin/prettier.cjs',
  '--check',
  '--log-level',
  'warn',
  '.',
]);
const oxlint = 'node_modules/oxlint/bin/oxlint';
run(process.execPath, [oxlint, '--deny-warnings']);
run(process.execPath, [oxlint, '-c', 'scripts/arrays.oxlintrc.json', 'examples', 'src/nn']);
