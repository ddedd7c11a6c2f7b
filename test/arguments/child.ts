import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Campaign, type Finding } from './campaign.js';

/** The process that makes the calls: it may hang or break down without the tests doing so. */

export interface Order {
  readonly from: number;
  readonly to: number;
  readonly seed: number;
  /** Make every right call once instead. */
  readonly isRight?: boolean;
}

export type Report =
  | { readonly now: number; readonly call: string }
  | { readonly finding: Finding }
  | { readonly done: true };

/** Resolves once it is on its way: what comes next may never let go of this process. */
const tell = (report: Report): Promise<void> =>
  new Promise((resolve) => void process.send!(report, () => resolve()));

process.on('message', ({ from, to, seed, isRight }: Order) => {
  process.chdir(mkdtempSync(join(tmpdir(), 'kaon-arguments-')));
  const campaign = new Campaign(seed);
  void (async (): Promise<void> => {
    if (isRight === true) for (const finding of await campaign.base()) await tell({ finding });
    for (let number = from; number < to; number++) {
      const finding = await campaign.call(number, (call) => tell({ now: number, call }));
      if (finding !== undefined) await tell({ finding });
    }
    await tell({ done: true });
    process.disconnect();
  })();
});
