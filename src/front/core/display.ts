import type { DType } from '../../base/dtype.js';
import { isFloat } from '../../base/dtype.js';
import type { Element } from '../../base/element.js';

export type NestedList = Element | NestedList[];

/** Elements as nested lists by shape. `read` takes a row-major position. */
export function nestedList(
  shape: readonly number[],
  read: (position: number) => Element,
): NestedList {
  let position = 0;
  const level = (axis: number): NestedList =>
    axis === shape.length
      ? read(position++)
      : Array.from({ length: shape[axis] }, () => level(axis + 1));
  return level(0);
}

/** Size above which the middle of every long axis is omitted. */
const summarizeAbove = 1000;
/** Number of entries shown at each end of such an axis. */
const edge = 3;
const lineWidth = 75;

/** NumPy's `repr`: `array([[1, 2], [3, 4]], dtype=int32)`, one row a line, columns aligned. */
export function arrayToString(
  dtype: DType,
  shape: readonly number[],
  read: (position: number) => Element,
): string {
  const size = shape.reduce((product, extent) => product * extent, 1);
  const suffix = dtype === 'float32' ? '' : `, dtype=${dtype}`;
  if (size === 0) {
    const shown = shape.length === 1 ? '' : `, shape=(${shape.join(', ')})`;
    return `array([]${shown}${suffix})`;
  }
  const summarize = size > summarizeAbove;
  const positions = (extent: number): readonly (number | null)[] =>
    summarize && extent > 2 * edge
      ? [...range(0, edge), null, ...range(extent - edge, extent)]
      : range(0, extent);
  const shown: Element[] = [];
  visit(shape, 0, 0, positions, (position) => shown.push(read(position)));
  const format = formatter(dtype, shown);
  const width = Math.max(...shown.map((element) => format(element).length));

  const render = (axis: number, base: number, indent: string): string => {
    if (axis === shape.length) return format(read(base)).padStart(width);
    const stride = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
    const parts = positions(shape[axis]).map((index) =>
      index === null ? '...' : render(axis + 1, base + index * stride, `${indent} `),
    );
    if (axis === shape.length - 1) return `[${wrap(parts, `${indent} `)}]`;
    const gap = '\n'.repeat(shape.length - axis - 1);
    return `[${parts.join(`,${gap}${indent} `)}]`;
  };
  return `array(${render(0, 0, ' '.repeat('array('.length))}${suffix})`;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

function visit(
  shape: readonly number[],
  axis: number,
  base: number,
  positions: (extent: number) => readonly (number | null)[],
  each: (position: number) => void,
): void {
  if (axis === shape.length) return each(base);
  const stride = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
  for (const index of positions(shape[axis])) {
    if (index !== null) visit(shape, axis + 1, base + index * stride, positions, each);
  }
}

/** Breaks a row that is too long into lines. */
function wrap(parts: readonly string[], indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const [i, part] of parts.entries()) {
    const piece = i === parts.length - 1 ? part : `${part}, `;
    if (line !== '' && indent.length + line.length + piece.trimEnd().length > lineWidth) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  lines.push(line);
  return lines.join(`\n${indent}`);
}

/**
 * One number format for all elements: the fewest decimals (at most 8 digits) that represent them exactly
 * after rounding.
 */
function formatter(dtype: DType, elements: readonly Element[]): (element: Element) => string {
  if (!isFloat(dtype)) return String;
  const numbers = elements.map(Number).filter(Number.isFinite);
  const magnitudes = numbers.filter((x) => x !== 0).map(Math.abs);
  const largest = magnitudes.reduce((a, b) => Math.max(a, b), 0);
  const least = magnitudes.reduce((a, b) => Math.min(a, b), Infinity);
  const digits = dtype === 'float64' ? 8 : dtype === 'float32' ? 7 : 4;
  const special = (x: number): string => (Number.isNaN(x) ? 'nan' : x < 0 ? '-inf' : 'inf');
  if (largest >= 1e8 || least < 1e-4 || (least > 0 && largest / least > 1e6 && least < 1)) {
    return (element) => {
      const x = Number(element);
      return Number.isFinite(x) ? scientific(x, digits) : special(x);
    };
  }
  const whole = largest < 1 ? 1 : Math.floor(Math.log10(largest)) + 1;
  const room = Math.max(0, digits - whole);
  const decimals = numbers.reduce((most, x) => {
    const fraction = x.toFixed(room).split('.')[1] ?? '';
    return Math.max(most, fraction.replace(/0+$/, '').length);
  }, 0);
  return (element) => {
    const x = Number(element);
    if (!Number.isFinite(x)) return special(x);
    const text = `${Object.is(x, -0) ? '-' : ''}${x.toFixed(decimals)}`;
    // Trailing zeros appear only because another element needs the digits.
    return decimals === 0 ? `${text}.` : text.replace(/0+$/, (zeros) => ' '.repeat(zeros.length));
  };
}

function scientific(x: number, digits: number): string {
  const [mantissa, exponent] = x.toExponential(digits - 1).split('e');
  const trimmed = mantissa.includes('.') ? mantissa.replace(/0+$/, '') : `${mantissa}.`;
  const power = Number(exponent);
  return `${Object.is(x, -0) ? '-' : ''}${trimmed}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
