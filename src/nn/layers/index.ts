export { type Activation, type ActivationName, Lambda } from './activation.js';
export {
  type AttentionOptions, MultiHeadAttention, TransformerEncoderLayer, type TransformerOptions,
} from './attention.js'; // prettier-ignore
export {
  type Cell,
  type CellOptions,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from './cells.js';
export {
  Conv1d, Conv2d, Conv3d, type ConvolutionOptions, ConvTranspose2d, type ConvTransposeOptions, type Extents,
} from './convolution.js'; // prettier-ignore
export { Dense, type DenseOptions } from './dense.js';
export { Dropout } from './dropout.js';
export { Embedding, type EmbeddingOptions } from './embedding.js';
export {
  BatchNorm, type BatchNormOptions, GroupNorm, InstanceNorm, type InstanceNormOptions, LayerNorm,
  type NormOptions, RMSNorm,
} from './normalization.js'; // prettier-ignore
export { type Lengths } from './packing.js';
export {
  AdaptiveAvgPool2d, AdaptiveMaxPool2d, AvgPool2d, GlobalAvgPool2d, MaxPool2d, type PoolOptions,
} from './pooling.js'; // prettier-ignore
export {
  GRU, LSTM, type RecurrentInputs, type RecurrentLayer, type RecurrentOptions, RNN, type RNNOptions,
} from './recurrent.js'; // prettier-ignore
export { type Layer, Sequential } from './sequential.js';
export { CarriedState, StatefulGRU, StatefulLSTM, type StatefulOptions } from './stateful.js';
