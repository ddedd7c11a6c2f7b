/** Bytes of all the modules that are kept. */
const defaultCapacity = 2 ** 22;

/**
 * Compiled modules by their bytes, so that programs which became the same code share one: it is compiled
 * once, and what the engine has optimised of it since is there at once for the next that asks, even where
 * the programs before were dropped. Whatever was not asked for longest goes first when the bytes of all
 * together exceed `capacity`.
 */
export class CompiledModules {
  readonly #capacity: number;
  /** In the order of their last use. */
  readonly #modules: Map<string, WebAssembly.Module> = new Map();
  #bytes = 0;

  constructor(capacity: number = defaultCapacity) {
    this.#capacity = capacity;
  }

  /** @throws WebAssembly.CompileError for what the engine refuses. */
  compile(code: Uint8Array<ArrayBuffer>): WebAssembly.Module {
    const key = textOf(code);
    let module = this.#modules.get(key);
    if (module === undefined) {
      module = new WebAssembly.Module(code);
      this.#bytes += code.length;
    } else this.#modules.delete(key);
    this.#modules.set(key, module);
    for (const oldest of this.#modules.keys()) {
      if (this.#bytes <= this.#capacity || oldest === key) break;
      this.#modules.delete(oldest);
      this.#bytes -= oldest.length;
    }
    return module;
  }
}

/** One character for each byte; in pieces, since a call takes only so many arguments. */
function textOf(code: Uint8Array): string {
  let text = '';
  for (let at = 0; at < code.length; at += 4096) {
    text += String.fromCharCode(...code.subarray(at, at + 4096));
  }
  return text;
}
