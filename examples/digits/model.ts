import * as kn from '../../src/index.js';

/** A small convolutional network for 8 by 8 images: logits of ten digits. */
export class DigitNet extends kn.nn.HybridBlock {
  features: kn.nn.Sequential = new kn.nn.Sequential(
    new kn.nn.Conv2d(16, 3, { padding: 1, useBias: false }),
    new kn.nn.BatchNorm(),
    'relu',
    new kn.nn.Conv2d(32, 3, { padding: 1, useBias: false }),
    new kn.nn.BatchNorm(),
    'relu',
    new kn.nn.MaxPool2d(2),
    new kn.nn.Dropout(0.2),
  );
  classify: kn.nn.Dense = new kn.nn.Dense(10, { flatten: true });

  override forward(images: kn.NDArray): kn.NDArray {
    return this.classify.call(this.features.call(images));
  }
}
