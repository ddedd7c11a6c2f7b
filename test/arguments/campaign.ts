import * as kn from '../../src/index.js';
import { baseOf, type Base, entries } from './calls.js';
import { type Callable, publishedCallables } from './declarations.js';
import { hostileValues, UsersError } from './values.js';
import { makeWorld, snapshot, statesOf, type World } from './world.js';

/** Wrong calls of everything published, by number: the same number is the same call in every run. */

/** How one call went that should not have gone so. */
export interface Finding {
  readonly number: number;
  readonly call: string;
  readonly fault: string;
}

/** A small generator of numbers, so that a call depends on its number and the seed alone. Source: SplitMix32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (((z ^ (z >>> 15)) >>> 0) / 2 ** 32) * below;
  };
}

const declarations = (entry: string): string =>
  new URL(`../../src/${entry}`, import.meta.url).pathname;

/** What is published, the operators as methods of arrays included. */
export function everyCallable(): readonly Callable[] {
  const listed = [
    ...publishedCallables(declarations('index.d.ts')),
    ...publishedCallables(declarations('artifact/index.d.ts'), 'artifact.'),
    ...publishedCallables(declarations('onnx.d.ts'), 'onnx.').filter(({ kind }) => kind === 'function'), // prettier-ignore
  ];
  const members = listed
    .filter(({ path, kind }) => kind === 'function' && Object.hasOwn(kn.NDArray.prototype, path))
    .filter(({ path }) => !listed.some((each) => each.path === `NDArray#${path}`))
    .map(({ path, parameters }): Callable => {
      return { path: `NDArray#${path}`, kind: 'method', parameters: parameters.slice(1) };
    });
  return [...listed, ...members];
}

const valueNames = Object.keys(hostileValues);

/** A right call made wrong, in words and as arguments. */
interface WrongCall {
  readonly callable: Callable;
  readonly base: Base;
  readonly args: readonly unknown[];
  readonly words: readonly string[];
}

/** The right call of a callable. */
export function rightCall(callable: Callable, world: World): Base | undefined {
  const { path } = callable;
  const operator = /^NDArray#(.+)$/.exec(path)?.[1];
  if (operator !== undefined && baseOf(callable) === undefined) {
    const parameters = [{ name: 'x', isOptional: false, options: [] }, ...callable.parameters];
    const made = baseOf({ path: operator, kind: 'function', parameters })?.(world);
    const args = made === undefined || 'args' in made ? made?.args : made;
    if (args === undefined) return undefined;
    return { receiver: kn.array(args[0] as kn.HostValue), args: args.slice(1) };
  }
  const made = baseOf(callable)?.(world);
  return made === undefined || 'args' in made ? made : { args: made };
}

function wrongCall(callable: Callable, base: Base, random: (below: number) => number): WrongCall {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random(list.length))];
  const args = [...base.args];
  const words: string[] = args.map(() => 'as is');
  const width = Math.max(args.length, callable.parameters.length);
  const hostile = (): [string, unknown] => {
    const name = pick(valueNames);
    return [name, hostileValues[name]()];
  };
  const spoil = (i: number): void => {
    const [name, value] = hostile();
    const options = callable.parameters[i]?.options ?? [];
    const given = base.args[i];
    const isRecord = typeof given === 'object' && given !== null && [Object.prototype, null].includes(Object.getPrototypeOf(given) as object | null); // prettier-ignore
    const keys = [...options, ...(isRecord ? Object.keys(given) : [])];
    for (let k = args.length; k < i; k++) words[k] = 'left out';
    if (keys.length > 0 && random(1) < 0.6) {
      const key = random(1) < 0.05 ? 'unknownOption' : pick(keys);
      args[i] = { ...(isRecord ? given : {}), [key]: value };
      words[i] = `{ ${key}: ${name} }`;
    } else if (Array.isArray(given) && given.length > 0 && random(1) < 0.5) {
      const place = Math.floor(random(given.length));
      args[i] = given.map((entry: unknown, k) => (k === place ? value : entry));
      words[i] = `[${place}: ${name}]`;
    } else {
      args[i] = value;
      words[i] = name;
    }
  };
  const kind = random(1);
  if (width === 0 || kind > 0.97) {
    const [name, value] = hostile();
    args.push(value);
    words.push(`one too many: ${name}`);
  } else if (kind > 0.92) {
    const count = Math.floor(random(args.length));
    args.length = count;
    words.length = count;
    words.push('too few');
  } else {
    spoil(Math.floor(random(width)));
    if (kind > 0.8) spoil(Math.floor(random(width)));
  }
  return { callable, base, args, words };
}

/** Finds what a path names. */
function lookUp(path: string): unknown {
  const steps = path.split('.');
  let value: unknown = kn;
  if (Object.hasOwn(entries, steps[0])) value = entries[steps.shift()!];
  for (const step of steps) value = (value as Readonly<Record<string, unknown>>)[step];
  return value;
}

/** Makes a call, right or wrong. */
export function perform({ path, kind }: Callable, base: Base, args: readonly unknown[]): unknown {
  const { receiver, use } = base;
  const name = path.slice(Math.max(path.lastIndexOf('#'), path.lastIndexOf('.')) + 1);
  const result = ((): unknown => {
    switch (kind) {
      case 'function':
        return (lookUp(path) as (...given: readonly unknown[]) => unknown)(...args);
      case 'class':
        return new (lookUp(path) as new (...given: readonly unknown[]) => unknown)(...args);
      case 'getter':
        return Reflect.get(receiver!, name);
      case 'setter':
        Reflect.set(receiver!, name, args[0]);
        return undefined;
      default:
        return (receiver as Record<string, (...given: readonly unknown[]) => unknown>)[name](...args); // prettier-ignore
    }
  })();
  const used = (value: unknown): unknown => (use === undefined ? value : use(value));
  if (kind !== 'getter' && isPromise(result)) return result.then(used);
  return used(result);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}

/** Errors whose words help nobody. */
function poverty(error: kn.KaonError): string | undefined {
  const { op, expected, actual, message, problem, source } = error;
  if (problem === '') return 'no problem is told';
  const isOfCall = [kn.ArgumentError, kn.DTypeError, kn.ShapeError].some((kind) => error instanceof kind); // prettier-ignore
  if (isOfCall && [op, expected, actual].includes(undefined)) return `op, expected or actual is not told: ${message}`; // prettier-ignore
  if (message.length > 3000) return `a message of ${message.length} characters`;
  if (/\[object \w+\]|\bundefined is not\b|of undefined\b|\bof null\b|\bCannot (?:read|convert)/.test(message)) return `a message of the engine's: ${message.slice(0, 300)}`; // prettier-ignore
  if (expected !== undefined && actual !== undefined && /^an object\b/.test(expected) && /^an [oO]bject$/.test(actual)) return `expected ${expected}, actual ${actual}`; // prettier-ignore
  if (source !== undefined && !/\/arguments\/|node:/.test(source)) return `a line of Kaon's as source: ${source}`; // prettier-ignore
  return undefined;
}

/** What is wrong with something that was thrown; undefined for errors that say what users need. */
export function faultOf(thrown: unknown): string | undefined {
  if (thrown instanceof UsersError || isOfProxy(thrown) || isOfCallback(thrown)) return undefined;
  if (thrown instanceof kn.InternalError) return `InternalError: ${thrown.problem} | ${shortStack(thrown.cause ?? thrown)}`; // prettier-ignore
  if (thrown instanceof kn.KaonError) return poverty(thrown);
  return `${thrown instanceof Error ? `${thrown.name}: ${thrown.message.slice(0, 200)}` : `thrown: ${typeof thrown}`} | ${shortStack(thrown)}`; // prettier-ignore
}

/** What a proxy does is its owner's code, revoking it included: see decision 52. */
function isOfProxy(thrown: unknown): boolean {
  return thrown instanceof TypeError && thrown.message.endsWith('a proxy that has been revoked');
}

/** The functions that right calls are given expect what they are promised, as those of users do. */
function isOfCallback(thrown: unknown): boolean {
  const innermost = shortStack(thrown).split(' < ', 1)[0];
  return thrown instanceof TypeError && innermost.includes('test/arguments/calls.');
}

function shortStack(thrown: unknown): string {
  if (!(thrown instanceof Error)) return '';
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return frames
    .slice(0, 4)
    .map((line) => line.replace(/^\s+at /, '').replace(/\(?(file:\/\/)?\/.*\/(src|test)\//, '($2/'))
    .join(' < ');
}

/** Elements of what came back: captured and lazy results are computed here at the latest. */
function readResult(result: unknown, depth = 0): void {
  if (result instanceof kn.NDArray) {
    if (result.size <= 10_000) result.dataSync();
  } else if (Array.isArray(result) && depth < 2 && result.length < 10) {
    for (const each of result) readResult(each, depth + 1);
  }
}

/** The campaign: every call by its number. */
export class Campaign {
  readonly callables: readonly Callable[] = everyCallable();
  readonly seed: number;
  #world: World = makeWorld();
  #before: string;

  constructor(seed: number) {
    this.seed = seed;
    kn.random.seed(1);
    this.#before = snapshot(this.#world);
  }

  /** Right calls that fail, and callables that have none. */
  async base(): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const [number, callable] of this.callables.entries()) {
      const fail = (fault: string): void =>
        void findings.push({ number, call: callable.path, fault });
      try {
        const base = rightCall(callable, this.#world);
        if (base === undefined) fail('has no right call');
        else readResult(await perform(callable, base, base.args));
      } catch (error) {
        fail(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
      }
      this.#restore();
    }
    return findings;
  }

  /** One wrong call, which is announced before it is made. Undefined where it went as it should. */
  async call(
    number: number,
    announce: (call: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<Finding | undefined> {
    const random = randomFrom(Math.imul(this.seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
    const callable = this.callables[number % this.callables.length];
    const base = rightCall(callable, this.#world);
    if (base === undefined) return undefined;
    const { args, words } = wrongCall(callable, base, random);
    this.#restore();
    const call = `${callable.path}(${words.join(', ')})`;
    await announce(call);
    const held = [base.receiver, ...base.args];
    const states = statesOf(held);
    this.#restore();
    const finding = (fault: string): Finding => ({ number, call, fault });
    try {
      readResult(await perform(callable, base, args));
    } catch (error) {
      let fault = faultOf(error);
      const now = snapshot(this.#world);
      if (now !== this.#before) {
        fault ??= `changed something before it threw: ${difference(this.#before, now)}`;
        this.#reset();
      }
      const left = statesOf(held);
      if (left !== states) fault ??= `changed what it works on before it threw: ${difference(states, left)}`; // prettier-ignore
      return fault === undefined ? undefined : finding(fault);
    }
    const after = snapshot(this.#world);
    if (after !== this.#before) this.#restore();
    if (snapshot(this.#world) !== this.#before) this.#reset();
    return undefined;
  }

  #restore(): void {
    kn.random.seed(1);
  }

  #reset(): void {
    this.#world = makeWorld();
    this.#restore();
    this.#before = snapshot(this.#world);
  }
}

function difference(before: string, now: string): string {
  let i = 0;
  while (before[i] === now[i]) i++;
  return `${before.slice(Math.max(0, i - 20), i + 30)} became ${now.slice(Math.max(0, i - 20), i + 30)}`;
}
