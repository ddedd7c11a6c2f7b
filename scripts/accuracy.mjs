// node scripts/accuracy.mjs [TABLE ...] [--options of the tables]
// Compiles, then runs the programs in accuracy/ that print tables of errors; all of them without a name.
import { existsSync, readdirSync } from 'node:fs';
import { compile, root, run } from './setup.mjs';

const known = readdirSync(`${root}accuracy`)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
for (const name of wanted) {
  if (existsSync(`${root}accuracy/${name}.ts`)) continue;
  console.error(`there is no table ${name}; there are ${known.join(', ')}`);
  process.exit(1);
}
compile();
for (const name of wanted.length === 0 ? known : wanted) {
  run(process.execPath, [`dist/accuracy/${name}.js`, ...options]);
}
