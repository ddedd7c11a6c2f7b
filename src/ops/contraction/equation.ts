import { type Dim, sameDim } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { type Refusal, requireNow, words } from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';
import { shapeToString } from '../declare/infer.js';
import type { Meeting, OperandAxis } from '../declare/meeting.js';

/** An axis label: a letter, or for the axes of an ellipsis `.` and their number from the right. */
export type Label = string;

/** An equation with its ellipses expanded for given operands. */
export interface Equation {
  /** The labels of each operand's axes. */
  readonly operands: readonly (readonly Label[])[];
  readonly output: readonly Label[];
  /** The extent of each label; 1 only where it is 1 in every operand. */
  readonly extents: ReadonlyMap<Label, Dim>;
}

/**
 * Parses `"ij,jk->ik"` for operands of these shapes. A letter twice in one operand takes a diagonal; `...`
 * stands for any axes, aligned from the right; without `->` the output is the ellipsis, then every letter
 * that occurs once, alphabetically.
 *
 * Throws an `ArgumentError` for text that is not an equation, and a `ShapeError` where ranks or extents do
 * not fit it; `op` names the operator in them.
 */
export function readEquation(op: string, text: string, shapes: readonly Shape[]): Equation {
  const { inputs, output } = parse(op, text);
  const operands = labelsOf(op, text, inputs, shapes);
  const extents = new Map<Label, Dim>();
  operands.forEach((labels, i) => noteExtents(op, extents, labels, shapes[i], i));
  const hidden = operands
    .map((labels) => labels.filter((label) => label.startsWith('.')))
    .reduce((widest, labels) => (labels.length > widest.length ? labels : widest), []);
  const letters = output ?? implicitOutput(inputs, hidden.length > 0);
  const result = letters.flatMap((label) => (label === '...' ? hidden : [label]));
  return { operands, output: result, extents };
}

function labelsOf(
  op: string,
  text: string,
  inputs: Terms['inputs'],
  shapes: readonly Shape[],
): readonly (readonly Label[])[] {
  if (inputs.length !== shapes.length) {
    throw new ArgumentError('the equation and the operands do not fit', {
      op,
      expected: `${inputs.length} operands for ${JSON.stringify(text)}`,
      actual: String(shapes.length),
    });
  }
  return inputs.map((term, i) => spellOut(op, term, shapes[i], i));
}

/** Meetings of axes with the same label: equal within an operand, broadcast between operands. */
export function labelMeetings(
  op: string,
  text: string,
  shapes: readonly Shape[],
): readonly Meeting[] {
  const operands = labelsOf(op, text, parse(op, text).inputs, shapes);
  const places = new Map<Label, OperandAxis[]>();
  operands.forEach((labels, operand) =>
    labels.forEach((label, axis) => {
      const known = places.get(label);
      if (known === undefined) places.set(label, [{ operand, axis }]);
      else known.push({ operand, axis });
    }),
  );
  const refusalOf =
    (label: Label, orOne: boolean): Meeting['refusal'] =>
    ({ operand, axis }, known) =>
      twoSizes(op, label, orOne ? words`${known}, or 1` : words`${known}`, {
        shape: shapes[operand],
        axis,
        operand,
      });
  const repeated = [...places].flatMap(([label, all]) =>
    operands.flatMap((_, k) => {
      const own = all.filter(({ operand }) => operand === k);
      if (own.length < 2) return [];
      return [{ places: own, broadcasts: false, refusal: refusalOf(label, false) }];
    }),
  );
  const shared = [...places].map(([label, all]) => ({
    places: all,
    broadcasts: true,
    refusal: refusalOf(label, true),
  }));
  return [...repeated, ...shared];
}

function twoSizes(
  op: string,
  label: Label,
  expected: Refusal['expected'],
  { shape, axis, operand }: OperandAxis & { readonly shape: Shape },
): Refusal {
  return {
    op,
    problem: words`axis ${label} has two sizes`,
    expected,
    actual: words`${shape[axis]} in operand ${String(operand)}, ${shape}`,
  };
}

interface Terms {
  readonly inputs: readonly (readonly Label[])[];
  /** Null when the equation has no arrow. */
  readonly output: readonly Label[] | null;
}

function parse(op: string, text: string): Terms {
  const sides = text.replaceAll(' ', '').split('->');
  if (sides.length > 2) throw malformed(op, text, 'there are two arrows');
  const inputs = sides[0].split(',').map((term) => lettersOf(op, text, term));
  if (sides.length === 1) return { inputs, output: null };
  const output = lettersOf(op, text, sides[1]);
  const known = new Set(inputs.flat());
  const unknown = output.find((label) => label !== '...' && !known.has(label));
  if (unknown !== undefined) throw malformed(op, text, `no operand has the axis ${unknown}`);
  if (new Set(output).size !== output.length)
    throw malformed(op, text, 'an axis is in the output twice');
  if (known.has('...') && !output.includes('...')) {
    throw malformed(op, text, "the output must have '...' when an operand has");
  }
  return { inputs, output };
}

function lettersOf(op: string, text: string, term: string): readonly Label[] {
  const labels: readonly string[] = term.match(/\.\.\.|[A-Za-z]/g) ?? [];
  if (labels.join('') !== term)
    throw malformed(op, text, `${JSON.stringify(term)} is not a list of axes`);
  if (labels.indexOf('...') !== labels.lastIndexOf('...')) {
    throw malformed(op, text, "one operand has '...' twice");
  }
  return labels;
}

function malformed(op: string, text: string, problem: string): ArgumentError {
  return new ArgumentError(problem, {
    op,
    expected: "an equation such as 'ij,jk->ik', of letters, commas, '...' and one '->'",
    actual: JSON.stringify(text),
  });
}

function spellOut(op: string, term: readonly Label[], shape: Shape, operand: number): Label[] {
  const letters = term.filter((label) => label !== '...').length;
  const hidden = shape.length - letters;
  const hasEllipsis = letters < term.length;
  if (hidden < 0 || (hidden > 0 && !hasEllipsis)) {
    throw new ShapeError(`operand ${operand} has another rank than its term`, {
      op,
      expected: `${hasEllipsis ? 'at least ' : ''}${letters} axes for ${JSON.stringify(term.join(''))}`,
      actual: shapeToString(shape),
    });
  }
  return term.flatMap((label) =>
    label === '...' ? Array.from({ length: hidden }, (_, at) => `.${hidden - 1 - at}`) : [label],
  );
}

function noteExtents(
  op: string,
  extents: Map<Label, Dim>,
  labels: readonly Label[],
  shape: Shape,
  operand: number,
): void {
  labels.forEach((label, axis) => {
    const dim = shape[axis];
    const first = labels.indexOf(label);
    if (first < axis) {
      requireNow(sameDim(shape[first], dim), () =>
        twoSizes(op, label, words`${shape[first]}`, { shape, axis, operand }),
      );
      return;
    }
    const known = extents.get(label) ?? 1;
    if (known === 1) extents.set(label, dim);
    else {
      requireNow(dim === 1 || sameDim(known, dim), () =>
        twoSizes(op, label, words`${known}, or 1`, { shape, axis, operand }),
      );
    }
  });
}

function implicitOutput(inputs: readonly (readonly Label[])[], hasHidden: boolean): Label[] {
  const all = inputs.flat().filter((label) => label !== '...');
  const once = all.filter((label) => all.indexOf(label) === all.lastIndexOf(label));
  return [...(hasHidden ? ['...'] : []), ...once.sort()];
}
