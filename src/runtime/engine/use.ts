import type { Program } from '../../ir/program.js';
import { partition } from '../../passes/host/partition.js';
import { selectable, selectCalls } from '../../passes/host/select.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { evaluateConstant } from '../compile/compile.js';
import { DeviceExecutable } from '../device/executable.js';
import type { PartPlaces } from '../device/program.js';
import { DeviceQueue } from '../device/queue.js';
import { useMemory, wantHome } from '../execution/backends.js';
import type { ExternalEngine } from './engine.js';
import { EngineMemory } from './memory.js';
import { EnginePart, hostPart } from './part.js';

/** The order of all that an engine and this library do for each other. */
const queues = new WeakMap<ExternalEngine, DeviceQueue>();

/** Programs that are divided, and whether parts that the engine cannot compile run here. */
const divided = new WeakMap<Program, { readonly fallsBack: boolean }>();

/** Has an engine run the parts of a program that it supports, before the program first runs. */
export function useEngine(program: Program, engine: ExternalEngine, fallsBack: boolean): void {
  divided.set(program, { fallsBack });
  wantHome(program, queueOf(engine));
}

function queueOf(engine: ExternalEngine): DeviceQueue {
  let queue = queues.get(engine);
  if (queue !== undefined) return queue;
  queue = new DeviceQueue(new EngineMemory(engine.name));
  queues.set(engine, queue);
  const memory = queue;
  useMemory({
    memory,
    compile: (program, policy) => {
      const wanted = divided.get(program);
      const places =
        wanted === undefined ? placesHere(memory) : placesOf(engine, memory, wanted.fallsBack);
      return new DeviceExecutable(program, memory, policy, places);
    },
    lacks: () => false,
  });
  return queue;
}

/** Places of a program of which an engine runs parts. */
function placesOf(engine: ExternalEngine, queue: DeviceQueue, fallsBack: boolean): PartPlaces {
  return {
    cut: (program) => {
      const ready = selectable(program, engine);
      return partition(ready, selectCalls(ready, engine))!;
    },
    code: ({ program, isElsewhere }) =>
      isElsewhere ? new EnginePart(engine, program, queue, fallsBack) : hostPart(program, queue),
  };
}

/** Places of a program that runs here, on arrays that an engine may still be computing. */
function placesHere(queue: DeviceQueue): PartPlaces {
  return {
    cut: (program) => {
      const lowest = runPipeline(program, passes, { evaluate: evaluateConstant });
      return partition(lowest, { isWhole: true })!;
    },
    code: ({ program }) => {
      const { run, release } = hostPart(program, queue);
      return { run, release };
    },
  };
}
