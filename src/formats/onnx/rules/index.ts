import { UnsupportedError } from '../../../base/errors.js';
import type { ImportedNode, ImportRule } from '../node.js';
import { importOp } from '../place.js';
import { activations } from './activations.js';
import { attentionRules } from './attention.js';
import { branches } from './branch.js';
import { loopRules } from './loop.js';
import { scans } from './scan.js';
import { conversions } from './conversions.js';
import { convolutions } from './convolutions.js';
import { elementwiseRules } from './elementwise.js';
import { indexing } from './indexing.js';
import { linearAttention } from './linear-attention.js';
import { losses } from './losses.js';
import { ngrams } from './ngrams.js';
import { machineLearning } from './ml.js';
import { normalizations } from './normalizations.js';
import { pools } from './pools.js';
import { products } from './products.js';
import { quantized } from './quantized.js';
import { randomness } from './random.js';
import { recurrent } from './recurrent.js';
import { reductions } from './reductions.js';
import { resampling } from './resampling.js';
import { resizing } from './resizing.js';
import type { ImportRules } from './rule.js';
import { sequences } from './sequences.js';
import { shapes } from './shapes.js';
import { signals } from './signals.js';
import { slices } from './slices.js';
import { training } from './training.js';

const own: ImportRules = {
  ...elementwiseRules,
  ...conversions,
  ...activations,
  ...shapes,
  ...slices,
  ...indexing,
  ...reductions,
  ...products,
  ...convolutions,
  ...pools,
  ...normalizations,
  ...quantized,
  ...randomness,
  ...recurrent,
  ...branches,
  ...loopRules,
  ...scans,
  ...sequences,
  ...resizing,
  ...resampling,
  ...signals,
  ...attentionRules,
  ...linearAttention,
  ...losses,
  ...ngrams,
};

/** Rules by operator domain. */
const rules: ReadonlyMap<string, ImportRules> = new Map([
  ['', own],
  ['ai.onnx.ml', machineLearning],
  ['ai.onnx.preview', { ...attentionRules, ...linearAttention }],
  ['ai.onnx.preview.training', training],
  ['ai.onnx.training', training],
]);

/** @throws UnsupportedError for an operator without a rule. */
export function ruleFor(node: ImportedNode): ImportRule {
  const { domain, opType } = node.proto;
  const table = rules.get(domain === 'ai.onnx' ? '' : domain);
  if (table !== undefined && Object.hasOwn(table, opType)) return table[opType];
  throw new UnsupportedError(`${node.place}: ${node.title} is not available`, {
    op: importOp,
    expected: 'an operator that Kaon has a rule for',
    actual: node.title,
    advice: 'define it as a function in the model, or export the model without it',
  });
}
