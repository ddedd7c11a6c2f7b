// npm run mutation: plants faults in the sources and runs the tests on them; see docs/contributing.md.
// Arguments go to the program.
import { spawnSync } from 'node:child_process';
import { install, root } from './setup.mjs';

install('mutation', '--ignore-scripts');
const { status } = spawnSync(process.execPath, ['mutation/main.mjs', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
