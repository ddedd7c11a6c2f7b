// Installs the peers on the first run, then measures. Arguments go to bench/main.mjs.
import { install, run } from './setup.mjs';

// Nothing of the peers needs an install script: they are JavaScript and WebAssembly.
install('bench', '--ignore-scripts');
run(process.execPath, ['bench/main.mjs', ...process.argv.slice(2)]);
