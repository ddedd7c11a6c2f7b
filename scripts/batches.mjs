// Test files that run in one process. The process of a file takes half a second to load the library, and runs all of
// it in the engine's slowest tier: files together take about half of the processor time that they take apart.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { root } from './setup.mjs';

/** Folders whose tests leave nothing behind that others would see. */
const sharing =
  /^test\/(artifact|base|bench|codegen|contract|examples|formats|front|golden|graph|ir|kernels|laws|lint|loop|nn|ops|passes|repository|runtime\/(compile|device|dynamic|execution|memory|native)|scale|security|source|stablehlo|support)\//;

/** Signs of a file that needs a process of its own: it changes what belongs to the process, or looks at it. */
const signs = [
  // Hooks outside of any suite are those of all files of a process.
  /^(before|after)(Each)?\(/m,
  // Settings that are made while the file loads would hold for all.
  /^(kn\.)?config\b/m,
  /In a process of its own:/,
  /node:child_process|node:worker_threads|process\.(env|on|once)\b|support\/garbage\.js/,
];

/** The most files of a process: more would leave one core without work at the end. */
const most = 12;

/** Processes that run some compiled tests of `out`: files, each of which is a test or imports several. */
export function batches(out, files) {
  const folder = `${out}/batches`;
  rmSync(`${root}${folder}`, { recursive: true, force: true });
  mkdirSync(`${root}${folder}`, { recursive: true });
  const alone = [];
  const together = new Map();
  for (const file of files) {
    if (needsProcess(`${root}${out}/${file}`, file)) alone.push(`${out}/${file}`);
    else {
      // Where code is native it is so for a whole process.
      const name = file.startsWith('test/runtime/native/') ? 'native' : file.split('/')[1];
      together.set(name, [...(together.get(name) ?? []), file]);
    }
  }
  const shared = [...together].flatMap(([name, members]) => {
    const count = Math.ceil(members.length / most);
    return Array.from({ length: count }, (_, k) => {
      // Dealt out, since neighbors take similar time.
      const own = members.filter((_, i) => i % count === k);
      if (own.length === 1) return `${out}/${own[0]}`;
      const batch = `${folder}/${name}-${k + 1}.test.js`;
      writeFileSync(`${root}${batch}`, own.map((file) => `import '../${file}';\n`).join(''));
      return batch;
    });
  });
  // The runner goes by names, so that these, which take longest, come before `test`.
  return [...shared, ...alone];
}

function needsProcess(path, file) {
  if (!sharing.test(file)) return true;
  const text = readFileSync(path, 'utf8');
  return signs.some((sign) => sign.test(text));
}
