/** Graphs as StableHLO, for XLA: JAX on one device or many. */
export {
  type StableHlo,
  type StableHloInput,
  type StableHloMeta,
  type StableHloOutput,
  toStableHlo,
  type ToStableHloOptions,
} from './stablehlo/to-stablehlo.js';
