// Installs the peers on the first run, compiles, and makes the package as it is published, whose import is
// one of the rows; then measures. Arguments go to bench/main.mjs.
import { bundle } from './bundle.mjs';
import { compile, install, run } from './setup.mjs';

// Nothing of the peers needs an install script: what is native in them is part of their packages.
install('bench', '--ignore-scripts');
compile('dist');
await bundle();
run(process.execPath, ['bench/main.mjs', ...process.argv.slice(2)]);
