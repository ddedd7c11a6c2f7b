import { InternalError } from './errors.js';

/** End of a `switch` over the kinds of a union: a kind that has no case does not compile. */
export function unreachable(value: never): never {
  const { kind }: { readonly kind?: unknown } = value;
  throw new InternalError(`there is no case for ${String(kind)}`);
}
