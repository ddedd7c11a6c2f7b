// Models and arrays for engines outside of Node: FOLDER/model.onnx, FOLDER/runs/N/in/NAME.npy, and what the
// engine leaves in FOLDER/runs/N/out.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const suffix = '.npy';

/**
 * A way to execute a model: `command` is given the folder as its last parameter. Each run is given the
 * states as well, which the engine replaces by what the run before has left.
 */
export function outside(
  { name, form, available, command },
  { decodeNpy, encodeNpy, elementsOf, statesOf },
) {
  return {
    name,
    form,
    available,
    async execute({ graph, runs }, folder) {
      // Where states have defaults, these are what the first run begins with.
      const states = form === 'onnx' ? {} : statesOf(graph);
      // Nothing that another engine has left may count as this one's.
      rmSync(join(folder, 'runs'), { recursive: true, force: true });
      const folders = runs.map((_, i) => join(folder, 'runs', String(i)));
      runs.forEach(({ feeds }, i) => {
        const inputs = join(folders[i], 'in');
        mkdirSync(inputs, { recursive: true });
        for (const [input, elements] of Object.entries(elementsOf({ ...feeds, ...states }))) {
          writeFileSync(join(inputs, encodeURIComponent(input) + suffix), encodeNpy(elements));
        }
      });
      const [program, ...parameters] = command();
      await run(program, [...parameters, folder]);
      return folders.map((each) =>
        Object.fromEntries(
          readdirSync(join(each, 'out')).map((file) => [
            decodeURIComponent(file.slice(0, -suffix.length)),
            decodeNpy(readFileSync(join(each, 'out', file))),
          ]),
        ),
      );
    },
  };
}
