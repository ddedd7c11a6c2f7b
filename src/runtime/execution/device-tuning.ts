/**
 * Kernels that have been measured to be the fastest: names of candidates by adapter with its driver, and then by operator,
 * kind of kernel and size class. Plain data.
 */
export type DeviceTuning = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** True for what has the form of a tuning, whatever its names. */
export function isDeviceTuning(value: unknown): value is DeviceTuning {
  const isRecord = (each: unknown): each is Readonly<Record<string, unknown>> =>
    typeof each === 'object' && each !== null && !Array.isArray(each);
  return (
    isRecord(value) &&
    Object.values(value).every(
      (choices) =>
        isRecord(choices) && Object.values(choices).every((name) => typeof name === 'string'),
    )
  );
}
