/**
 * What a forward pass keeps for its backward pass: everything that backward reads (`'all'`), the inputs
 * only, with the rest computed again (`'none'`), what is dear to compute (`'auto'`), or at most so many
 * bytes (a number). Never changes a result.
 */
export type SavePolicy = 'all' | 'none' | 'auto' | number;
