/** Runs cases of ONNX's suite and makes the scoreboard of docs/onnx.md. */
import { UnsupportedError } from '../../../src/base/errors.js';
import type { NDArray } from '../../../src/front/core/ndarray.js';
import { fromOnnx, type OnnxGraph, type OnnxInputs } from '../../../src/onnx.js';
import {
  arrayFrom,
  type Case,
  type CaseData,
  type Datum,
  difference,
  readCase,
} from './backend.js';

/**
 * How a case ended: `plain` passes as the file is; `given` passes when values or shapes of inputs that
 * decide the form of the graph are given at import; `unsupported` is refused by name; `wrong` is a failure.
 */
export interface Outcome {
  readonly case: Case;
  readonly operator: string;
  readonly kind: 'plain' | 'given' | 'unsupported' | 'wrong';
  readonly why: string;
}

/** Cases whose results are random numbers, of which only dtypes and shapes are compared. */
const drawn: ReadonlySet<string> = new Set([
  'test_bernoulli',
  'test_bernoulli_double',
  'test_bernoulli_expanded',
  'test_bernoulli_seed_expanded',
  'test_training_dropout',
]);

export const tolerance = { rtol: 1e-3, atol: 1e-7 } as const;

/** Runs one case. Errors other than refusals are failures. */
export function runCase(each: Case, operators: ReadonlyMap<string, string>): Outcome {
  const operator = operators.get(each.name) ?? each.group;
  const outcome = (kind: Outcome['kind'], why: string = ''): Outcome => ({ case: each, operator, kind, why }); // prettier-ignore
  try {
    const data = readCase(each);
    const { graph, isGiven } = imported(data);
    const results = graph.run(feedsOf(graph, data.inputs()));
    const only = drawn.has(each.name) ? 'types' : 'elements';
    const wrong = [...data.outputs()].flatMap(([name, datum]) =>
      differences(name, results, datum, only),
    );
    if (wrong.length > 0) return outcome('wrong', wrong[0]);
    return outcome(isGiven ? 'given' : 'plain');
  } catch (error) {
    const { name, message } = error as Error;
    if (error instanceof UnsupportedError) return outcome('unsupported', error.problem);
    return outcome('wrong', `${name}: ${message}`);
  }
}

/** The graph of a case; what an import asks for of the inputs, it is given from the data of the case. */
function imported({ bytes, model, inputs }: CaseData): { graph: OnnxGraph; isGiven: boolean } {
  const requests: Record<string, OnnxInputs> = {};
  const { input, initializer } = model.graph!;
  const stored = new Set(initializer.map(({ name }) => name));
  const own = input.filter(({ name }) => !stored.has(name));
  const isStructured = own.some(({ type }) => type?.value.case !== 'tensorType');
  const isShapeless = own.some(({ type }) => type?.value.case === 'tensorType' && type.value.value.shape === undefined); // prettier-ignore
  if (isStructured || isShapeless) {
    // What varies from run to run in the form of inputs is given with the inputs' own sizes.
    for (const { name } of own) requests[name] = shapesOf(inputs().get(name) ?? null);
  }
  for (;;) {
    try {
      const graph = fromOnnx(bytes, { inputs: requests });
      return { graph, isGiven: Object.keys(requests).length > 0 };
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
      const wanted = /give the (values|shapes) of (.*) by the option inputs/.exec(
        error.advice ?? '',
      );
      if (wanted === null) throw error;
      for (const name of JSON.parse(`[${wanted[2]}]`) as string[]) {
        const datum = inputs().get(name);
        const known = requests[name];
        const isKnown =
          known !== undefined && (wanted[1] === 'shapes' || (known !== null && 'value' in known));
        if (isKnown || datum === undefined || datum === null || Array.isArray(datum)) throw error;
        if (wanted[1] === 'shapes') requests[name] = shapesOf(datum);
        else
          requests[name] = { value: arrayFrom(datum as Exclude<Datum, null | readonly Datum[]>) };
      }
    }
  }
}

function shapesOf(datum: Datum): OnnxInputs {
  if (datum === null) return null;
  return 'element' in datum ? { shape: datum.type.shape } : datum.map(shapesOf);
}

function feedsOf(graph: OnnxGraph, inputs: ReadonlyMap<string, Datum>): Record<string, NDArray> {
  const feeds: Record<string, NDArray> = {};
  const put = (name: string, datum: Datum): void => {
    if (datum === null) return;
    if (!('element' in datum)) datum.forEach((entry, k) => put(`${name}.${k}`, entry));
    else if (graph.inputNames.includes(name)) feeds[name] = arrayFrom(datum);
  };
  for (const [name, datum] of inputs) put(name, datum);
  return feeds;
}

function differences(
  name: string,
  results: Readonly<Record<string, NDArray>>,
  datum: Datum,
  only: 'types' | 'elements',
): readonly string[] {
  if (datum === null) return results[name] === undefined ? [] : [`${name} is not absent`];
  if (!('element' in datum)) {
    const beyond = results[`${name}.${datum.length}`] === undefined ? [] : [`${name} is too long`];
    return [
      ...beyond,
      ...datum.flatMap((entry, k) => differences(`${name}.${k}`, results, entry, only)),
    ];
  }
  const found = difference(name, results[name], datum, only === 'types' ? null : tolerance);
  return found === null ? [] : [found];
}

/** The operator that each case is about: its only one, or for an expansion what was expanded. */
export function operatorsOf(cases: readonly Case[]): ReadonlyMap<string, string> {
  const operators = new Map<string, string>();
  for (const each of cases) {
    if (each.group !== 'node' || each.name.includes('_expanded')) continue;
    const { model } = readCase(each);
    const [first] = model.graph!.node.filter(({ opType }) => !/^(Constant|Identity)$/.test(opType));
    const { domain, opType } = first ?? model.graph!.node[0];
    operators.set(each.name, domain === '' ? opType : `${domain}.${opType}`);
  }
  for (const { name } of cases) {
    const plain = name.replace(/_expanded.*$/, '');
    const operator = operators.get(plain);
    if (operator !== undefined) operators.set(name, operator);
  }
  return operators;
}

/** The scoreboard as Markdown. */
export function scoreboard(outcomes: readonly Outcome[]): string {
  const byOperator = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const list = byOperator.get(outcome.operator);
    if (list === undefined) byOperator.set(outcome.operator, [outcome]);
    else list.push(outcome);
  }
  const count = (list: readonly Outcome[], ...kinds: readonly Outcome['kind'][]): number =>
    list.filter(({ kind }) => kinds.includes(kind)).length;
  const passed = count(outcomes, 'plain', 'given');
  const share = ((100 * passed) / outcomes.length).toFixed(1);
  const rows = [...byOperator]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([operator, list]) => {
      const numbers = [list.length, count(list, 'plain'), count(list, 'given')];
      const others = count(list, 'unsupported', 'wrong');
      return `| ${operator} | ${numbers.join(' | ')} | ${others === 0 ? '' : others} |`;
    });
  const open = outcomes
    .filter(({ kind }) => kind === 'unsupported' || kind === 'wrong')
    .map(({ case: { name }, why }) => `| ${name} | ${why.replaceAll('|', '\\|')} |`);
  return [
    '<!-- prettier-ignore-start -->',
    '',
    `${passed} of ${outcomes.length} cases pass (${share} %), ${count(outcomes, 'plain')} of them as the files are.`,
    '',
    '| operator | cases | pass | pass, inputs given | open |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    'The others, and what is said of them:',
    '',
    '| case | reason |',
    '| --- | --- |',
    ...open,
    '',
    '<!-- prettier-ignore-end -->',
  ].join('\n');
}
