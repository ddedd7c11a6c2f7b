import type { DType } from '../../../base/dtype.js';

/** Dtypes that numbers have to have, by the names of what they are the values of. */
export type Wanted = Map<string, DType>;

/** Thrown where a first path has to give a value in another form: everything is traced again. */
export class Retrace extends Error {}
