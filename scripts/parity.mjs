// npm run parity: compares what exported models compute elsewhere; see parity/README.md.
// npm run parity -- operators: compares every operator with PyTorch; see parity/operators/README.md.
// Arguments go to the programs.
import { spawnSync } from 'node:child_process';
import { install, root } from './setup.mjs';

const [first, ...rest] = process.argv.slice(2);
const [program, ...parameters] =
  first === 'operators'
    ? ['parity/operators/main.mjs', ...rest]
    : ['parity/main.mjs', ...process.argv.slice(2)];
// Nothing of the peers needs an install script: what is native in them is part of their packages.
if (first !== 'operators') install('parity', '--ignore-scripts');
const { status } = spawnSync(process.execPath, [program, ...parameters], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
