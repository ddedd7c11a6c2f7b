// The clock of all measurements: time that passes, or, where others use the machine, time of the processor.

const onProcessor = process.env.KAON_BENCH_CLOCK === 'cpu';

/** Milliseconds since some moment; of all threads of this process by the processor's clock. */
export function clock() {
  if (!onProcessor) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
