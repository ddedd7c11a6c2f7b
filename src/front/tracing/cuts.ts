import { currentSource, TraceError } from '../../base/errors.js';
import {
  flattenTree,
  sameStructure,
  type TreeStructure,
  structureToString,
  unflattenTree,
} from '../../base/attributes/tree.js';
import { typeToString } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Capture, Effects } from '../core/capture.js';
import { type CapturedDraws, endDraws } from '../dispatch/generator.js';
import { currentSerial } from '../core/history.js';
import type { LiveValues } from './live.js';
import { withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from '../graphs/signature.js';
import { runStaticCode, type StaticCode } from '../core/static-code.js';

/** A call of side-effect code in the middle of captured code. */
export interface Cut {
  readonly code: StaticCode;
  readonly source: string | undefined;
  /** Its array arguments, as values of the trace, and the nesting of its arguments. */
  readonly args: readonly NDArray[];
  readonly argStructure: TreeStructure;
  /** Placeholders for its array results, and the nesting of its result. */
  readonly results: readonly NDArray[];
  readonly resultStructure: TreeStructure;
}

/** Captured code up to a cut, or to the end. */
export interface CodeSection {
  readonly effects: Effects;
  readonly draws: CapturedDraws | undefined;
  /** Serial of the first later call. */
  readonly end: number;
  readonly cut: Cut | null;
}

/** Results of side-effect code when a trace was made, for later traces to compare with. */
export interface KnownResult {
  readonly types: readonly TensorType[];
  readonly structure: TreeStructure;
}

/**
 * Cuts a trace into stretches at side-effect code. A first trace runs everything while it captures, so that
 * the code has real arrays; a retrace for comparison runs nothing and reuses the known results.
 */
export class Cuts {
  readonly #capture: Capture;
  readonly #live: LiveValues;
  readonly #known: readonly KnownResult[] | null;
  readonly #stretches: CodeSection[] = [];
  /** Paths of fields that side-effect code has changed. */
  readonly changedFields: Set<string> = new Set();

  constructor(capture: Capture, live: LiveValues, known: readonly KnownResult[] | null) {
    this.#capture = capture;
    this.#live = live;
    this.#known = known;
    capture.calls.all = known === null ? [] : null;
    capture.onStaticCode = (code, args) => this.#call(code, args);
  }

  /** The stretches, once the code has ended. */
  finish(): readonly CodeSection[] {
    const effects = this.#capture.takeEffects();
    const draws = endDraws(this.#capture);
    this.#stretches.push({ effects, draws, end: currentSerial(), cut: null });
    if (this.#live.hasRun) this.#live.catchUp(effects, draws);
    return this.#stretches;
  }

  #call(code: StaticCode, given: readonly unknown[]): unknown {
    const source = currentSource();
    this.#capture.calls.cuts++;
    const { leaves, structure: argStructure } = flattenTree(given, isArray, 'staticCode');
    const args = leaves.map((array) => this.#capture.state.current(array));
    const effects = this.#capture.takeEffects();
    const draws = endDraws(this.#capture);
    const end = currentSerial();
    const result =
      this.#known === null
        ? this.#run(code, args, argStructure, () => this.#live.catchUp(effects, draws))
        : this.#rehearse(this.#known[this.#stretches.length], code, source);
    const cut = { code, source, args, argStructure, ...result };
    this.#stretches.push({ effects, draws, end, cut });
    return unflattenTree(result.resultStructure, result.results);
  }

  #run(
    code: StaticCode,
    args: readonly NDArray[],
    argStructure: TreeStructure,
    catchUp: () => void,
  ): Pick<Cut, 'results' | 'resultStructure'> {
    catchUp();
    const values = withMode({ capture: null, session: null }, 'staticCode', () =>
      args.map((array) => this.#live.of(array).detach()),
    );
    const { fields } = this.#capture;
    const earlier = new Map(fields?.changes().map(({ path, to }) => [path, to]));
    const result = runStaticCode(code, unflattenTree(argStructure, values) as readonly unknown[]);
    for (const { path, to } of fields?.changes() ?? []) {
      if (!earlier.has(path) || !Object.is(earlier.get(path), to)) this.changedFields.add(path);
    }
    const { leaves, structure: resultStructure } = flattenTree(result, isArray, 'staticCode');
    const results = leaves.map((array) => {
      const standIn = this.#capture.placeholder({ dtype: array.dtype, shape: array.shape });
      this.#live.set(standIn, array);
      return standIn;
    });
    return { results, resultStructure };
  }

  #rehearse(
    known: KnownResult | undefined,
    code: StaticCode,
    source: string | undefined,
  ): Pick<Cut, 'results' | 'resultStructure'> {
    if (known === undefined) {
      throw new TraceError('captured code changed between two calls: more side-effect code', {
        op: 'staticGraph',
        expected: `${this.#known!.length} calls of side-effect code`,
        actual: code.name || 'one more',
        source,
        advice: 'pass what decides about it as an argument',
      });
    }
    return {
      results: known.types.map((type) => this.#capture.placeholder(type)),
      resultStructure: known.structure,
    };
  }
}

/**
 * Compares the results of side-effect code with those that the graph was captured for.
 * @throws TraceError
 */
export function checkResult(
  known: KnownResult,
  result: { readonly leaves: readonly NDArray[]; readonly structure: TreeStructure },
  source: string | undefined,
): void {
  const describe = (structure: TreeStructure, types: readonly TensorType[]): string =>
    `${structureToString(structure)} of (${types.map(typeToString).join(', ')})`;
  const types = result.leaves.map(({ dtype, shape }) => ({ dtype, shape }));
  const [expected, actual] = [
    describe(known.structure, known.types),
    describe(result.structure, types),
  ];
  if (sameStructure(known.structure, result.structure) && expected === actual) return;
  throw new TraceError(
    'side-effect code returned something else than when its graph was captured',
    {
      op: 'staticCode',
      expected,
      actual,
      source,
      advice: 'return arrays of the same types for the same arguments, and numbers as arrays',
    },
  );
}
