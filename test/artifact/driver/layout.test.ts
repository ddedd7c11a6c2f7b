import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, evaluateDim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { shareMemory } from '../../../src/artifact/driver/layout.js';
import type { PlannedBuffer } from '../../../src/passes/groups/places.js';

const n = symbol('n');

/** A buffer of float32 that lives from one step to another. */
const buffer = (length: Dim, first: number, last: number): PlannedBuffer => {
  return { dtype: 'float32', length, first, last, role: { kind: 'temporary' }, taken: null };
};

test('buffers of symbolic sizes that do not live at the same time share memory, others do not', () => {
  const places = [
    buffer(n, 0, 1),
    buffer(mulDim(n, 2), 1, 2),
    buffer(mulDim(n, 3), 2, 3),
    buffer(n, 3, 4),
    buffer(7, 4, 5),
  ];
  const { offsets, bytes } = shareMemory(places);
  for (const size of [0, 1, 5, 64, 1000]) {
    const at = new Map([['n', size]]);
    const spans = places.map(({ length, first, last }, k) => {
      const begin = evaluateDim(offsets[k], at);
      return { begin, end: begin + 4 * evaluateDim(length, at), first, last };
    });
    const total = evaluateDim(bytes, at);
    for (const [k, a] of spans.entries()) {
      assert.ok(a.end <= total);
      for (const b of spans.slice(k + 1)) {
        if (a.last >= b.first && b.last >= a.first) assert.ok(a.end <= b.begin || b.end <= a.begin || a.begin === a.end || b.begin === b.end); // prettier-ignore
      }
    }
    // At most two live at once; each of the two slots is as large as the largest of all.
    if (size >= 64) assert.ok(total <= 2 * (4 * 3 * size + 64), `${total} bytes for ${size}`);
  }
});
