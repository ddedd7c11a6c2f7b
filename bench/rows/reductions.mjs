// Sums: whatever they add up along, memory should be the limit.
import { input } from '../harness/data.mjs';
import { meanOf, normsOf, sumsOf, variancesOf } from '../reference/reductions.mjs';

const section = 'Sums';
const [rowCount, width] = [4096, 1024];

/** A row for one kind of sum over a matrix of which the results are `count` numbers. */
function reduction(title, kind, count, reference) {
  return {
    section,
    title: `${title} of ${rowCount} x ${width}`,
    kind,
    unit: 'ms',
    bytes: 4 * (rowCount * width + count),
    build() {
      const x = input([rowCount, width], 1);
      return { inputs: { x }, reference: reference(x.data) };
    },
  };
}

export const rows = [
  reduction('mean', 'meanAll', 1, (x) => Float64Array.of(meanOf(x))),
  reduction('sum along rows', 'sumRows', rowCount, (x) => sumsOf(x, width, 1)),
  reduction('sum along columns', 'sumColumns', width, (x) => sumsOf(x, width, 0)),
  reduction('variance along rows', 'variance', rowCount, (x) => variancesOf(x, width)),
  reduction('norm along rows', 'norm', rowCount, (x) => normsOf(x, width)),
];
