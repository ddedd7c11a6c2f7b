import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Campaign, type Finding } from './campaign.js';

/** The process that makes the calls: it may hang or break down without the tests doing so. */

export type Order = { readonly from: number; readonly to: number; readonly seed: number };
export type Report =
  { readonly now: number } | { readonly finding: Finding } | { readonly done: true };

const tell = (report: Report): void => void process.send!(report);

process.on('unhandledRejection', () => undefined);
process.on('message', ({ from, to, seed }: Order) => {
  process.chdir(mkdtempSync(join(tmpdir(), 'kaon-arguments-')));
  const campaign = new Campaign(seed);
  void (async (): Promise<void> => {
    for (let number = from; number < to; number++) {
      tell({ now: number });
      const finding = await campaign.call(number);
      if (finding !== undefined) tell({ finding });
    }
    tell({ done: true });
    process.disconnect();
  })();
});
