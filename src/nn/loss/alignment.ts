import { describe } from '../../base/attributes/attribute.js';
import { type Dim, isStatic, sameDim } from '../../base/dim/index.js';
import { isFloat, kindOf } from '../../base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { placedBeside } from '../../front/devices/placing.js';
import { extentsOf } from '../../front/dispatch/traced-shape.js';
import { typeToString } from '../../ir/program.js';
import { cast } from '../../ops/index.js';
import { checkedLengths, type Lengths, type LengthWords } from '../layers/packing.js';

/** Options of `ctc` that concern the alignment of logits and labels. */
export interface AlignmentOptions {
  readonly inputLengths?: Lengths | undefined;
  readonly labelLengths?: Lengths | undefined;
  readonly blank: number;
  readonly isTimeFirst: boolean;
}

/** Lengths of each example, int32; null without padding. */
export interface AlignmentLengths {
  readonly steps: NDArray | null;
  readonly count: NDArray | null;
}

const op = 'ctc';

/**
 * Refuses logits and labels whose shapes do not match. Known elements are checked here; those of captured
 * code at run time, by the operators that read them.
 */
export function checkedAlignment(
  logits: NDArray,
  labels: NDArray,
  { inputLengths, labelLengths, blank, isTimeFirst }: AlignmentOptions,
): AlignmentLengths {
  checkLogits(logits, isTimeFirst);
  const extents = extentsOf(logits);
  const [time, batch, classes] = isTimeFirst ? extents : [extents[1], extents[0], extents[2]];
  checkBlank(blank, classes);
  checkLabels(labels, logits, isTimeFirst ? 1 : 0);
  const [, most] = extentsOf(labels);
  const lengths = (given: Lengths | undefined, end: Dim, words: LengthWords): NDArray | null => {
    if (given === undefined) return null;
    const checked = placedBeside([logits], () => checkedLengths(op, given, end, batch, words));
    return cast(checked, 'int32');
  };
  const steps = lengths(inputLengths, time, { what: 'input length', unit: 'steps' });
  const count = lengths(labelLengths, most, { what: 'label length', unit: 'labels' });
  checkClasses(labels, count, blank, classes);
  return { steps, count };
}

function checkLogits({ type }: NDArray, isTimeFirst: boolean): void {
  if (!isFloat(type.dtype)) {
    throw new DTypeError('logits are floats', {
      op,
      expected: 'a float dtype',
      actual: type.dtype,
      advice: 'give logits first, then labels',
    });
  }
  if (type.shape.length === 3) return;
  throw new ShapeError('these are not logits of sequences', {
    op,
    expected: isTimeFirst ? '(time, batch, classes)' : '(batch, time, classes)',
    actual: typeToString(type),
    advice: 'give a single sequence an axis for the batch, with expandDims',
  });
}

function checkBlank(blank: number, classes: Dim): void {
  const isClass = Number.isSafeInteger(blank) && blank >= 0;
  if (isClass && (!isStatic(classes) || blank < classes)) return;
  throw new ArgumentError('the blank is not a class', {
    op,
    expected: `an integer from 0 to ${isStatic(classes) ? classes - 1 : `${String(classes)} - 1`}`,
    actual: describe(blank),
    advice: 'count the blank among the classes of the logits',
  });
}

function checkLabels(labels: NDArray, logits: NDArray, batchAxis: number): void {
  const { dtype, shape } = labels.type;
  if (kindOf(dtype) !== 'int') {
    throw new DTypeError('labels are integers', {
      op,
      expected: 'an integer dtype',
      actual: dtype,
      advice: "make them with { dtype: 'int32' }",
    });
  }
  // Identical symbols are equal without reading their values.
  const isSameBatch = (): boolean =>
    sameDim(shape[0], logits.type.shape[batchAxis]) || labels.shape[0] === logits.shape[batchAxis];
  if (shape.length === 2 && isSameBatch()) return;
  throw new ShapeError('there must be one row of labels for each example', {
    op,
    expected: `(batch, most labels), which is (${String(logits.type.shape[batchAxis])}, any)`,
    actual: typeToString(labels.type),
    advice: 'pad rows to one length, and give the lengths as labelLengths',
  });
}

/** Refuses labels that are not classes, as far as labels and their lengths are known. */
function checkClasses(
  { elements, type }: NDArray,
  count: NDArray | null,
  blank: number,
  classes: Dim,
): void {
  const [, most] = type.shape;
  const areKnown =
    elements?.isKnown === true && (count === null || count.elements?.isKnown === true);
  if (!areKnown || !isStatic(most)) return;
  const counts = count?.elements?.host;
  for (const [at, label] of [...elements.host].map(Number).entries()) {
    const [example, place] = [Math.floor(at / most), at % most];
    if (counts !== undefined && place >= Number(counts[example])) continue;
    const isBlank = label === blank;
    if (!isBlank && label >= 0 && (!isStatic(classes) || label < classes)) continue;
    throw new ArgumentError(
      `label ${place} of example ${example} is ${isBlank ? 'the blank' : 'no class'}`,
      {
        op,
        expected: `a class from 0 to ${isStatic(classes) ? classes - 1 : `${String(classes)} - 1`}, other than the blank ${blank}`,
        actual: String(label),
        advice: 'give the number of labels of each example as labelLengths, if this is padding',
      },
    );
  }
}
