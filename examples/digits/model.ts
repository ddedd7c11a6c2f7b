import * as kn from '../../src/index.js';

const { nn } = kn;

/** A small convolutional network for 8 by 8 images: logits of ten digits. */
export class DigitNet extends nn.HybridBlock {
  features: kn.nn.Sequential = new nn.Sequential(
    new nn.Conv2d(16, 3, { padding: 1, useBias: false }),
    new nn.BatchNorm(),
    'relu',
    new nn.Conv2d(32, 3, { padding: 1, useBias: false }),
    new nn.BatchNorm(),
    'relu',
    new nn.MaxPool2d(2),
    new nn.Dropout(0.2),
  );
  classify: kn.nn.Dense = new nn.Dense(10, { flatten: true });

  override forward(images: kn.NDArray): kn.NDArray {
    return this.classify.call(this.features.call(images));
  }
}
