// The side of a contestant: a process that answers requests, one JSON object a line, until its input ends.
//
//   {"do": "hello"}                         -> {"versions": {...}, "offers": {kind: [form, ...]}} or {"missing": reason}
//   {"do": "prepare", "case": {...}, "form"} -> {"id": n}
//   {"do": "result", "id": n, "file"}        -> {"written": whether the file holds a result, in float64}
//   {"do": "round", "id": n, "milliseconds"} -> {"milliseconds": a run}
//   {"do": "note", "id": n}                  -> {"note": what is to be known of the figures, if anything}
//   {"do": "release", "id": n}               -> {}
//
// Anything that goes wrong is answered with {"error": text}. Inputs of a case are files of float32 or
// int32 with a shape. peers.py speaks the same language.
import { Console } from 'node:console';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { timeRound } from './timing.mjs';

// Libraries greet on standard output, which belongs to the answers.
globalThis.console = new Console(process.stderr);

const arrays = { float32: Float32Array, int32: Int32Array };

function readInputs(inputs = {}) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { file, shape, dtype = 'float32' }]) => {
      const { buffer, byteOffset, length } = readFileSync(file);
      const bytes = buffer.slice(byteOffset, byteOffset + length);
      return [name, { data: new arrays[dtype](bytes), shape }];
    }),
  );
}

/**
 * `load()` gives `{ versions, kinds }`, or throws where the contestant is not available. `kinds[kind][form]`
 * is a function of (inputs, case) that gives `{ run, result?, note? }`, or `sample` in place of `run`, where
 * one sample knows itself how many milliseconds it took.
 */
export function serve(load) {
  const prepared = new Map();
  let loaded;
  const requests = {
    async hello() {
      try {
        loaded = await load();
      } catch (error) {
        return { missing: error.message };
      }
      const offers = Object.entries(loaded.kinds).map(([kind, forms]) => [
        kind,
        Object.keys(forms),
      ]);
      return { versions: loaded.versions, offers: Object.fromEntries(offers) };
    },
    async prepare({ case: work, form }) {
      const id = prepared.size;
      prepared.set(id, await loaded.kinds[work.kind][form](readInputs(work.inputs), work));
      return { id };
    },
    async result({ id, file }) {
      const { result } = prepared.get(id);
      if (result === undefined) return { written: false };
      const numbers = new Float64Array(await result());
      writeFileSync(file, new Uint8Array(numbers.buffer));
      return { written: true };
    },
    async note({ id }) {
      return { note: prepared.get(id).note?.() };
    },
    async round({ id, milliseconds }) {
      const { run, sample } = prepared.get(id);
      return {
        milliseconds: run === undefined ? await sample() : await timeRound(run, milliseconds),
      };
    },
    async release({ id }) {
      prepared.set(id, null);
      return {};
    },
  };
  const lines = createInterface({ input: process.stdin });
  let before = Promise.resolve();
  lines.on('line', (line) => {
    const request = JSON.parse(line);
    const answer = before.then(() => requests[request.do](request));
    before = answer
      .catch((error) => ({ error: error.stack ?? String(error) }))
      .then((reply) => process.stdout.write(`${JSON.stringify(reply)}\n`));
  });
  lines.on('close', () => process.exit(0));
}
