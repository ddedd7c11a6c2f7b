import { effects } from './effects.js';
import { testKind } from './kinds.js';
import { sizes } from './sizes.js';
import { slopes } from './slopes.js';

testKind('derivatives are those of plain numbers', slopes, 4, 2000);
testKind('the number of rows changes, also in what was exported', sizes, 3, 1000);
testKind('state, random numbers, checks and steps are those of plain loops', effects, 6, 2000);
