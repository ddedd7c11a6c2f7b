// Installs onnxruntime on the first run, then compares what exported models compute; see parity/README.md.
// Arguments go to parity/main.mjs.
import { spawnSync } from 'node:child_process';
import { install, root } from './setup.mjs';

// Nothing of the peers needs an install script: what is native in them is part of their packages.
install('parity', '--ignore-scripts');
const { status } = spawnSync(process.execPath, ['parity/main.mjs', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
