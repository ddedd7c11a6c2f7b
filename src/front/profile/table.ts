import { type Column, table } from '../../base/text-table.js';
import type { ProfiledKernel, ProfiledOperator } from './totals.js';

const time = (milliseconds: number): string => milliseconds.toFixed(3);

/** The tables of a profile, for people. */
export function textTable(
  milliseconds: number,
  kernels: readonly ProfiledKernel[],
  operators: readonly ProfiledOperator[],
): string {
  const inKernels = kernels.reduce((sum, kernel) => sum + kernel.milliseconds, 0);
  const share = (part: number): string =>
    milliseconds > 0 ? `${((100 * part) / milliseconds).toFixed(1)}` : '';
  const common = <T extends ProfiledKernel | ProfiledOperator>(): readonly Column<T>[] => [
    { title: 'calls', align: 'right', show: ({ calls }) => `${calls}` },
    { title: 'ms', align: 'right', show: (row) => time(row.milliseconds) },
    { title: '%', align: 'right', show: (row) => share(row.milliseconds) },
    { title: 'us a call', align: 'right', show: (row) => ((1000 * row.milliseconds) / row.calls).toFixed(1) }, // prettier-ignore
  ];
  const kernelColumns: readonly Column<ProfiledKernel>[] = [
    { title: 'kernel', align: 'left', show: ({ name }) => name },
    ...common<ProfiledKernel>(),
    { title: 'GB/s', align: 'right', show: rate },
    { title: 'device', align: 'left', show: ({ device }) => device },
    { title: 'where', align: 'left', show: ({ source, reads }) => [source ?? '', ...reads].join(' ').trim() }, // prettier-ignore
  ];
  const operatorColumns: readonly Column<ProfiledOperator>[] = [
    { title: 'operator', align: 'left', show: ({ name }) => name },
    ...common<ProfiledOperator>(),
  ];
  return [
    `${time(milliseconds)} ms, of which kernels took ${time(inKernels)} ms`,
    ...table(kernelColumns, kernels),
    '',
    ...table(operatorColumns, operators),
  ].join('\n');
}

function rate({ bytes, milliseconds }: ProfiledKernel): string {
  return bytes === null || milliseconds <= 0 ? '' : (bytes / milliseconds / 1e6).toFixed(2);
}
