import { type Explanation, mergeExplanations } from '../caches/explain.js';
import { noteFields } from '../core/capture.js';
import { refuseAsync } from '../core/mode.js';
import { isCapturable } from '../options/capturable.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { setOriginal } from '../options/originals.js';
import { Captured } from './captured.js';
import type { Schedule } from './schedule.js';
import { refuseUnconverted } from './unconverted.js';

type AnyFunction = (...args: never[]) => unknown;

/** The graphs of a function, or of a method by the object that it was called on. */
export class Owners {
  readonly #op: string;
  readonly #fn: AnyFunction;
  readonly #options: HybridizeOptions;
  readonly #mayRunCode: boolean;
  readonly #plain: Captured;
  readonly #byObject: WeakMap<object, Captured> = new WeakMap();
  /** Graphs live as long as their object; this list only enumerates them. */
  #known: WeakRef<Captured>[] = [];

  /** @param mayRunCode Side-effect code may cut the graphs. */
  constructor(op: string, fn: AnyFunction, options: HybridizeOptions, mayRunCode: boolean) {
    refuseUnconverted(fn, op);
    this.#op = op;
    this.#fn = fn;
    this.#options = options;
    this.#mayRunCode = mayRunCode;
    this.#plain = this.#capture(fn, {});
  }

  captured(owner: unknown): Captured {
    if (typeof owner !== 'object' || owner === null) return this.#plain;
    let captured = this.#byObject.get(owner);
    if (captured === undefined) {
      refuseAsync(this.#fn, this.#op);
      const bound = (...args: never[]): unknown => {
        noteFields(owner, 'this');
        return this.#fn.apply(owner as never, args);
      };
      setOriginal(bound, this.#fn);
      captured = this.#capture(bound, isCapturable(owner) ? owner.captureOptions() : {});
      this.#byObject.set(owner, captured);
      this.#known = [...this.#known.filter((ref) => ref.deref()), new WeakRef(captured)];
    }
    return captured;
  }

  explain(): Explanation {
    return mergeExplanations(this.#all().map((each) => each.explain()));
  }

  get schedules(): readonly Schedule[] {
    return this.#all().flatMap(({ schedules }) => schedules);
  }

  #all(): readonly Captured[] {
    return [this.#plain, ...this.#known.flatMap((ref) => ref.deref() ?? [])];
  }

  #capture(fn: AnyFunction, parts: HybridizeOptions): Captured {
    const options = { name: this.#fn.name || 'function', ...parts, ...this.#options };
    return new Captured(this.#op, fn, options, this.#mayRunCode);
  }
}

/** An arrow function, whose `this` is that of the code around it. */
const arrow = /^(?:async\b\s*)?(?:\(|[\w$]+\s*=>)/;

/** True for a function that names `this` and gets it from the call. */
export function takesThis(fn: AnyFunction): boolean {
  const text = Function.prototype.toString.call(fn);
  return /\bthis\b/.test(text) && !arrow.test(text);
}
