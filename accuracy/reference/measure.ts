import type { CompileOptions } from '../../src/runtime/execution/executable.js';
import { computed, type Form } from './forms.js';
import { distance, type FloatFormat, ulpExponent } from './formats.js';
import { anyNumber, aroundChange, generator, specialNumbers } from './inputs.js';
import { operatorReferences, type Reference, type Result } from './operators.js';
import { isNegative, isZero, magnitudeOf, type Real, zero } from './real.js';

/** The greatest error of a form in a format, and where it is. */
export interface Measured {
  /** In ulp; infinite where an infinity, NaN or the sign of a zero is wrong. */
  readonly error: number;
  readonly operands: readonly number[];
  readonly result: number;
  readonly count: number;
}

export interface MeasureOptions {
  /** Random arguments. */
  readonly points: number;
  readonly seed: number;
  readonly target: NonNullable<CompileOptions['target']>;
}

/** The reference of a form. */
export function referenceOf({ declaration: { name } }: Form): Reference {
  const reference = operatorReferences[name];
  if (reference === undefined)
    throw new Error(`${name} has no reference in accuracy/reference/operators.ts`);
  return reference;
}

/** How many numbers on either side of a change are tried. */
const neighbors = 12;

function classOf(result: Result, { least, greatest, fraction }: FloatFormat): string {
  if (typeof result === 'number') return Number.isFinite(result) ? 'number' : String(result);
  if (isZero(result)) return 'zero';
  const magnitude = magnitudeOf(result);
  const size =
    magnitude < least - fraction - 1 ? 'nothing' : magnitude < least ? 'denormal' : magnitude > greatest ? 'huge' : 'normal'; // prettier-ignore
  return `${isNegative(result) ? '-' : ''}${size}`;
}

/** Operands that a form is tried at, column by column. */
export function operandsFor(
  form: Form,
  format: FloatFormat,
  reference: Reference,
  { points, seed }: MeasureOptions,
): readonly (readonly number[])[] {
  const random = generator(seed);
  const special = specialNumbers(format);
  const rows: (readonly number[])[] = [];
  const exactly = (operands: readonly number[]): Result =>
    reference.value(operands, form.attributes, format);
  /** Around every change of class along the last operand. */
  const addChanges = (others: readonly number[], xs: readonly number[]): void => {
    const sorted = xs.filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
    const classAt = (x: number): string => classOf(exactly([...others, x]), format);
    const classes = sorted.map(classAt);
    sorted.slice(1).forEach((x, i) => {
      if (classes[i] === classes[i + 1] || sorted[i] === x) return;
      const found = aroundChange(format, [sorted[i], x], classAt, neighbors);
      for (const each of found) rows.push([...others, each]);
    });
  };
  if (form.count === 1) {
    const xs = Array.from({ length: points }, () => anyNumber(format, random));
    rows.push(...[...special, ...xs].map((x) => [x]));
    addChanges([], [...special, ...xs.slice(0, 400)]);
    return rows;
  }
  const ends = special.filter((_, i) => i < 20 || i % 5 === 0);
  for (const x of ends) {
    for (const y of ends) {
      rows.push([x, y, ...Array.from({ length: form.count - 2 }, () => ends[rows.length % ends.length])]);
    }
  } // prettier-ignore
  for (let i = 0; i < points; i++) {
    const row = Array.from({ length: form.count }, () => anyNumber(format, random));
    // Operands of about one size cancel.
    if (i % 4 === 0) row[1] = format.round(-row[0] * (1 + (random() - 0.5) * 2 ** (-random() * 20)));
    if (i % 8 === 4) row[1] = format.round(row[0] + (random() - 0.5) * 4);
    rows.push(row);
  } // prettier-ignore
  for (let i = 0; i < 8; i++) {
    const others = Array.from({ length: form.count - 1 }, () => anyNumber(format, random));
    addChanges(others, special);
  }
  return rows;
}

const scaleOf = (reference: Reference, operands: readonly number[], form: Form): Real =>
  reference.scale?.(operands, form.attributes) ?? zero;

/** The error of a result in ulp of the exact one, or of what cancels in it. */
export function errorOf(
  form: Form,
  format: FloatFormat,
  reference: Reference,
  operands: readonly number[],
  result: number,
): number {
  const exact = reference.value(operands, form.attributes, format);
  if (typeof exact === 'number') {
    return Object.is(exact, result) ? 0 : Infinity;
  }
  const magnitude = Math.max(magnitudeOf(exact), magnitudeOf(scaleOf(reference, operands, form)));
  return distance(result, exact, ulpExponent(magnitude, format), format);
}

/** Tries a form at special and random numbers, and around roots, poles and the ends of ranges. */
export function measure(form: Form, format: FloatFormat, options: MeasureOptions): Measured {
  const reference = referenceOf(form);
  const rows = operandsFor(form, format, reference, options);
  const columns = Array.from({ length: form.count }, (_, k) => rows.map((row) => row[k]));
  const results = computed(form, format, columns, options.target);
  let worst: Measured = { error: 0, operands: rows[0], result: results[0], count: rows.length };
  rows.forEach((operands, i) => {
    const error = errorOf(form, format, reference, operands, results[i]);
    if (error > worst.error) worst = { ...worst, error, operands, result: results[i] };
  });
  return worst;
}
