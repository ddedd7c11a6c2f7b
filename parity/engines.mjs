// onnxruntime in other languages, as ways to execute a model.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { outside } from './exchange.mjs';
import { classPath, home, python } from './setup.mjs';

function answer(command, ...parameters) {
  const { status, stdout } = spawnSync(command, parameters, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

const engines = [
  {
    name: 'ORT Python',
    form: 'onnx',
    available: async () => {
      const versions = 'import onnxruntime, platform; print(onnxruntime.__version__, platform.python_version())'; // prettier-ignore
      const found = answer(python, '-c', versions);
      if (found === null) return { missing: 'onnxruntime for Python could not be installed' };
      const [runtime, language] = found.split(' ');
      return { what: `onnxruntime ${runtime}, Python ${language}` };
    },
    command: () => [python, join(home, 'executors', 'run.py')],
  },
  {
    name: 'ORT Java',
    form: 'plain onnx',
    available: async () => {
      const jar = /onnxruntime-([\d.]+)\.jar/.exec(classPath() ?? '');
      if (jar === null) return { missing: 'onnxruntime for Java could not be fetched with Maven' };
      const version = answer('java', '--version');
      if (version === null) return { missing: 'there is no java' };
      return { what: `onnxruntime ${jar[1]}, ${version.split('\n')[0]}` };
    },
    command: () => ['java', '-cp', classPath(), join(home, 'executors', 'Run.java')],
  },
];

/** The engines, with what they need of Kaon; `outside` says what that is. */
export const outsideEngines = (kaon) => engines.map((engine) => outside(engine, kaon));
