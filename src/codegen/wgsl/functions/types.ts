import { gridLanes } from '../../../loop/language/team.js';
import type { ExprType, Scalar } from '../../../loop/language/nodes.js';

/** True for values that a shader holds in one vector of WGSL, or in one scalar. */
export function isShaderType({ scalar, lanes }: ExprType): boolean {
  return lanes === 1 || (lanes === gridLanes && scalar !== 'i64' && scalar !== 'f64');
}

/** A type of WGSL: of values of a type without 64 bits, or of their bits. */
export function wgslType(scalar: Exclude<Scalar, 'i64' | 'f64'> | 'u32', lanes: number): string {
  return lanes === 1 ? scalar : `vec${lanes}<${scalar}>`;
}

/** A scalar in every lane. */
export function inAllLanes(scalar: string, text: string, lanes: number): string {
  return lanes === 1 ? text : `vec${lanes}<${scalar}>(${text})`;
}
