import * as kn from '../../src/index.js';

/** A small residual network for images of any size: strides, groups, pools, batch norm. */
export class ResidualNet extends kn.nn.HybridBlock {
  stem: kn.nn.Sequential = new kn.nn.Sequential(
    new kn.nn.Conv2d(8, 5, { strides: 2, padding: 2, useBias: false }),
    new kn.nn.BatchNorm(),
    'relu',
  );
  branch: kn.nn.Sequential = new kn.nn.Sequential(
    new kn.nn.Conv2d(8, 3, { padding: 1, groups: 8 }),
    new kn.nn.Conv2d(8, 1, { activation: 'silu' }),
    new kn.nn.Conv2d(8, 3, { padding: 2, dilation: 2 }),
    new kn.nn.GroupNorm(4),
  );
  head: kn.nn.Sequential = new kn.nn.Sequential(
    new kn.nn.AvgPool2d(2),
    new kn.nn.Conv2d(12, 3, { padding: 1, activation: 'gelu' }),
    new kn.nn.GlobalAvgPool2d(),
    new kn.nn.Dense(5, { flatten: true }),
  );

  override forward(images: kn.NDArray): kn.NDArray {
    const x = this.stem.call(images);
    return this.head.call(x.add(this.branch.call(x)).relu()).softmax();
  }
}

/**
 * Square roots by Newton's method, as many iterations as the data needs, in a loop over rows: a branch and
 * a loop inside of a loop.
 */
export function nestedControlFlow(rows: kn.NDArray, limit: kn.NDArray): Record<string, kn.NDArray> {
  const [norms, count] = kn.foreach(
    (row: kn.NDArray, total: kn.NDArray) => {
      const square = row.square().sum();
      const [, [root], iterations] = kn.whileLoop(
        (y: kn.NDArray) => y.square().sub(square).abs().greater(square.mul(1e-4)),
        (y: kn.NDArray) => [[], [y.add(square.div(y)).mul(0.5)]],
        [square.add(1)],
      );
      const scaled = kn.cond(
        root.greater(limit),
        () => row.mul(limit.div(root)),
        () => row.add(0),
      );
      return [scaled, total.add(iterations)];
    },
    rows,
    kn.array(0, { dtype: 'int32' }),
  );
  return { norms, count };
}
