import type { BinaryExpr, Expr, ExprType, Select } from '../../../loop/language/nodes.js';
import { scalarBytes } from '../../../loop/language/build.js';
import type { Instr } from '../encoding/instr.js';
import { operationName } from './arithmetic.js';
import { i32Const, i32Sub, instr, type Mask, type MaskWidth, narrowLanes, type Selector, vectorShapeOf, splat, vectorConst } from './selector.js'; // prettier-ignore

/** The width in which a bool vector is kept in a local. */
export function storedWidth(type: ExprType): MaskWidth {
  return type.lanes === 2 ? 64 : 32;
}

/** The mask in lanes of the given width. Only vectors of two lanes can differ. */
export function widenMask(s: Selector, mask: Mask, width: MaskWidth | 'any'): Instr {
  if (width === 'any' || mask.width === 'any' || mask.width === width) return mask.instr;
  return width === 32
    ? narrowLanes(s, mask.instr)
    : s.pool.make('i64x2.extend_low_i32x4_s', [mask.instr]);
}

/** The mask width that matches the lanes of a type. */
export function widthFor(type: ExprType): MaskWidth {
  return scalarBytes(type.scalar) === 8 ? 64 : 32;
}

/** Instruction selection for vectors of bool. */
export function selectMask(s: Selector, expr: Expr): Mask {
  vectorShapeOf(expr.type); // refuses lane counts that have no register
  switch (expr.kind) {
    case 'const':
      return { instr: vectorConst(s, 'bool', expr.value), width: 'any' };
    case 'broadcast': {
      const bits = i32Sub(s, i32Const(s, 0), s.lower(expr.x));
      return { instr: splat(s, 'i32x4', bits), width: 'any' };
    }
    case 'unary': {
      const { instr: x, width } = s.mask(expr.x);
      return { instr: instr(s, 'v128.not', [x]), width };
    }
    case 'binary':
      return expr.a.type.scalar === 'bool' ? combineMasks(s, expr) : compare(s, expr);
    case 'select':
      return selectMasks(s, expr);
    case 'cast': {
      const { scalar } = expr.x.type;
      const zero = vectorConst(s, scalar, scalar === 'i64' ? 0n : 0);
      return {
        instr: instr(s, `${vectorShapeOf(expr.x.type)}.ne`, [s.lower(expr.x), zero]),
        width: widthFor(expr.x.type),
      };
    }
    default:
      return { instr: s.lower(expr), width: storedWidth(expr.type) };
  }
}

function compare(s: Selector, { op, a, b }: BinaryExpr): Mask {
  const name = `${vectorShapeOf(a.type)}.${operationName(op, a.type.scalar)}`;
  return { instr: instr(s, name, [s.lower(a), s.lower(b)]), width: widthFor(a.type) };
}

function combineMasks(s: Selector, { op, a: left, b: right }: BinaryExpr): Mask {
  const [a, b] = [s.mask(left), s.mask(right)];
  const width = a.width === 'any' ? b.width : a.width;
  const operands = [widenMask(s, a, width), widenMask(s, b, width)];
  if (op === 'eq') return { instr: instr(s, 'v128.not', [instr(s, 'v128.xor', operands)]), width };
  return { instr: instr(s, `v128.${op === 'ne' ? 'xor' : op}`, operands), width };
}

function selectMasks(s: Selector, { condition, a: left, b: right }: Select): Mask {
  const masks = [s.mask(left), s.mask(right), s.mask(condition)];
  const width = masks.find((mask) => mask.width !== 'any')?.width ?? 'any';
  const operands = masks.map((mask) => widenMask(s, mask, width));
  return { instr: instr(s, 'v128.bitselect', operands), width };
}

/** 1 of the given type where the mask is set, else 0. */
export function maskToNumber(s: Selector, x: Expr, type: ExprType): Instr {
  const one = vectorConst(s, type.scalar, type.scalar === 'i64' ? 1n : 1);
  return instr(s, 'v128.and', [widenMask(s, s.mask(x), widthFor(type)), one]);
}
