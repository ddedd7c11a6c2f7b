// Times and amounts as rows show them. Contestants report milliseconds a run, or whatever the unit counts.

const perMillisecond = { ms: 1, us: 1e3, ns: 1e6 };

/**
 * An amount in the unit of its row: times are divided by what the row calls one (`per`: iterations of a
 * run), `GFLOP/s` counts the row's operations, anything else is shown as it was measured.
 */
export function inUnit({ unit, per = 1, operations }, amount) {
  if (unit === 'GFLOP/s') return operations / amount / 1e6;
  return (amount * (perMillisecond[unit] ?? 1)) / per;
}

/** Three digits that mean something. */
export function digits(value) {
  if (!Number.isFinite(value)) return '-';
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
