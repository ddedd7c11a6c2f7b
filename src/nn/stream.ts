import { outsideCapture } from '../front/core/capture.js';
import {
  type GeneratorState,
  generatorMoment,
  generatorState,
  returnTo,
  setGeneratorState,
  takeState,
} from '../front/dispatch/generator.js';

/*
 * Random numbers that are set aside now and drawn later. A parameter whose sizes only the first call will
 * tell gets the numbers that it would have got at once: first values depend on the seed and on the place
 * of the parameter, never on the order in which layers first run or on what they draw on the way.
 */

const drawless = new WeakSet<object>();

/** Declares that an initializer draws no random numbers, so no stream is reserved for it. */
export function drawingNothing<F extends object>(fn: F): F {
  drawless.add(fn);
  return fn;
}

export function drawsNothing(fn: object): boolean {
  return drawless.has(fn);
}

/** Reserves a random stream: one draw of the generator, which seeds an independent sequence. */
export function reserveStream(): GeneratorState {
  const { seed, counter } = generatorState();
  outsideCapture(() => takeState());
  return { seed: mix(seed ^ mix(counter)), counter: 0n };
}

/** Runs `draw` on a stream from its beginning; the generator's state is unaffected. */
export function drawFrom<R>(stream: GeneratorState, draw: () => R): R {
  return outsideCapture(() => {
    const before = generatorMoment();
    setGeneratorState(stream);
    try {
      return draw();
    } finally {
      returnTo(before);
    }
  });
}

/** A bijective mixing function on 64 bits. Source: Steele, Lea and Flood, SplitMix64, OOPSLA 2014. */
function mix(bits: bigint): bigint {
  const word = (value: bigint): bigint => BigInt.asUintN(64, value);
  let z = word(bits + 0x9e3779b97f4a7c15n);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
