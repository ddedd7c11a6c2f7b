import { BoundedCache } from '../../base/bounded-cache.js';
import { ShapeError } from '../../base/errors.js';
import { checkAttributes, symbolsOfAttributes } from '../../base/attributes/schema.js';
import { isStatic, symbol } from '../../base/dim/index.js';
import type { Program } from '../../ir/program.js';
import { requireNow } from '../../ir/requirement.js';
import { sizesPassedBy } from '../../ops/declare/facets.js';
import type { Declaration } from '../../ops/declare/declare.js';
import { codeAtHome } from '../../runtime/execution/backends.js';
import type { Executable, TierReport } from '../../runtime/execution/executable.js';
import { compile } from '../../runtime/compile/compile.js';
import type { Tier } from '../../runtime/execution/tiers.js';
import { type ArrayType, staticType } from '../core/array-type.js';
import { generalize } from './generalize.js';
import { eagerPolicy, shouldGeneralize, type SizesSeen } from '../sizes/policy.js';
import { attributesKey } from '../../base/attributes/key.js';
import { type Operation, programOf } from '../core/operation.js';

/** Compiled form of one operator on operands of certain types. */
export interface CallPlan {
  /** The result types; null where the data decides them. */
  readonly types: readonly ArrayType[] | null;
  /** Null for a view: the operand's elements are the result's. */
  readonly executable: Executable | null;
  /** The sizes that the executable is passed. */
  readonly sizes?: readonly number[];
  /** Number of calls until code is specialized to these sizes; 0 where it is, or where that would not pay. */
  callsLeft: number;
}

/**
 * Capacity of plans of an operator. Evicting an executable evicts the plans that use it, since they would
 * retain its code and memory.
 */
const planCapacity = 1024;

/** Cache of one operator's plans (and, for one with regions, of those regions'). */
export class OperatorCache {
  /** By operand types and attributes, exactly. */
  readonly #plans: BoundedCache<number | string, CallPlan> = new BoundedCache({
    capacity: planCapacity,
  });
  readonly #executables: BoundedCache<string, Executable>;
  /** Histories of calls whose sizes have the same equalities. */
  readonly #patterns: BoundedCache<string, SizesSeen> = new BoundedCache({
    capacity: planCapacity,
  });

  /** @param capacity The most executables that are kept. */
  constructor(capacity: number = eagerPolicy.variants) {
    this.#executables = new BoundedCache({
      capacity,
      evicted: (_, old) => this.#plans.deleteWhere(({ executable }) => executable === old),
    });
  }

  plan(operation: Operation, types: readonly ArrayType[]): CallPlan {
    const key = planKey(operation, types);
    // Every eager call comes through here: plans stay as old as they are.
    let plan = this.#plans.peek(key);
    if (plan === undefined) {
      plan = this.#make(operation, types, String(key));
      this.#plans.set(key, plan);
    } else if (plan.callsLeft > 0 && --plan.callsLeft === 0) {
      plan = { ...plan, executable: this.#own(operation, types, String(key)) };
      this.#plans.set(key, plan);
    }
    return plan;
  }

  #make(operation: Operation, types: readonly ArrayType[], key: string): CallPlan {
    const { declaration, attributes, regions } = operation;
    checkAttributes(declaration.name, declaration.attributes, attributes);
    refuseSymbols(operation);
    let count = 0;
    const inferred = declaration
      .infer({
        inputs: types,
        attributes,
        regions,
        fresh: (hint, bounds) => symbol(`${hint}_${count++}`, bounds),
        require: requireNow,
      })
      .map(staticType);
    const known = inferred.every((type) => type !== undefined) ? inferred : null;
    if (declaration.lowering.kind === 'view')
      return { types: known, executable: null, callsLeft: 0 };
    if (declaration.lowering.kind === 'inline') {
      const sizes = sizesPassedBy({ op: declaration, attributes }).filter(isStatic);
      return { types: known, executable: executableOf(regions[0]), sizes, callsLeft: 0 };
    }
    const general = this.#general(operation, types);
    const isBetterAlone = declaration.family === 'contraction';
    return {
      types: known,
      executable: general ?? this.#own(operation, types, key),
      callsLeft: general !== null && isBetterAlone ? eagerPolicy.hotCalls : 0,
    };
  }

  /** Symbolic code of a pattern; null where there is none, or not yet. */
  #general(operation: Operation, types: readonly ArrayType[]): Executable | null {
    const general = operation.regions.length > 0 ? null : generalize(operation, types);
    if (general === null) return null;
    const known = this.#executables.get(general.key);
    if (known !== undefined) return known;
    let pattern = this.#patterns.get(general.key);
    if (pattern === undefined) {
      pattern = { specialized: 0, needsNumbers: false };
      this.#patterns.set(general.key, pattern);
    }
    if (!shouldGeneralize(eagerPolicy, pattern)) {
      pattern.specialized++;
      return null;
    }
    const program = general.program();
    pattern.needsNumbers = program === null;
    return program === null ? null : this.#keep(general.key, compile(program));
  }

  /** Code specialized to these sizes. */
  #own(operation: Operation, types: readonly ArrayType[], key: string): Executable {
    return this.#keep(key, compile(programOf(operation, types)));
  }

  #keep(key: string, executable: Executable): Executable {
    this.#executables.set(key, executable);
    return executable;
  }
}

/** Refuses named sizes, which have no value in an eager call. */
function refuseSymbols({ declaration, attributes }: Operation): void {
  const [name] = symbolsOfAttributes(declaration.attributes, attributes).keys();
  if (name === undefined) return;
  throw new ShapeError('a named size has no value here', {
    op: declaration.name,
    expected: 'numbers, since the call runs now',
    actual: `the dimension ${name}`,
    advice: 'named sizes belong to captured code, and to what describes graphs',
  });
}

/** One number for the common case of one or two operands without attributes; ids stay far below 2^26. */
function planKey(
  { declaration, attributes }: Operation,
  types: readonly ArrayType[],
): number | string {
  const text = attributesKey(declaration, attributes);
  if (text === '') {
    if (types.length === 1) return types[0].id;
    if (types.length === 2 && types[0].id < 2 ** 26) return types[0].id + types[1].id * 2 ** 26;
  }
  let key = '';
  for (const type of types) key += `${type.id},`;
  return key + text;
}

const executables = new WeakMap<Program, Executable>();
const wantedTiers = new WeakMap<Program, Tier>();

/** The compiled form of a program that outlives one call. Cached as long as the program lives. */
function executableOf(program: Program): Executable {
  let executable = executables.get(program);
  if (executable === undefined) {
    executable = codeAtHome(program) ?? compile(program, { tier: wantedTiers.get(program) });
    executables.set(program, executable);
  }
  return executable;
}

/** Chooses the execution tier of a program, before it first runs. */
export function wantTier(program: Program, tier: Tier): void {
  wantedTiers.set(program, tier);
}

/** The execution tiers of a program; empty before it first runs. */
export function tiersOf(program: Program): readonly TierReport[] {
  return executables.get(program)?.tiers() ?? [];
}

const byOperator = new Map<Declaration, OperatorCache>();
/** Caches of operators with regions, which live as long as the region. */
const byRegion = new WeakMap<Program, Map<string, OperatorCache>>();
const regionIds = new WeakMap<Program, number>();
let nextRegionId = 0;

/** The plan of an operator for operands of these types; compiled when they are new. */
export function planFor(operation: Operation, types: readonly ArrayType[]): CallPlan {
  const { declaration, regions } = operation;
  let cache: OperatorCache | undefined;
  if (regions.length === 0) {
    cache = byOperator.get(declaration);
    if (cache === undefined) byOperator.set(declaration, (cache = new OperatorCache()));
  } else {
    let caches = byRegion.get(regions[0]);
    if (caches === undefined) byRegion.set(regions[0], (caches = new Map<string, OperatorCache>()));
    const key = `${declaration.name}:${regions.map(regionId).join()}`;
    cache = caches.get(key);
    if (cache === undefined) caches.set(key, (cache = new OperatorCache()));
  }
  return cache.plan(operation, types);
}

function regionId(region: Program): number {
  let id = regionIds.get(region);
  if (id === undefined) regionIds.set(region, (id = nextRegionId++));
  return id;
}
