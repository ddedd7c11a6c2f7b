import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { checkLongProduct, longProducts } from './long-products.js';

for (const product of longProducts()) {
  const operands = product.on();
  test(`${product.name}: long sums keep their digits`, () => {
    checkLongProduct(product, operands, product.code(...operands));
  });

  test(`${product.name}: long sums of sizes that are not known keep their digits`, () => {
    const captured = kn.hybridize(product.code, { dynamic: product.dynamic });
    checkLongProduct(product, operands, captured(...operands));
  });
}
