// Trains in a thread of its own, so that the page stays responsive, and reports to it.
import * as kn from '../../src/index.js';
import { digitsLesson } from './digits.js';
import type { Lesson } from './lesson.js';
import type { Order, Report, Subject } from './messages.js';
import { namesLesson } from './names.js';

/** Time between reports, in milliseconds. */
const interval = 50;

function report(message: Report): void {
  postMessage(message);
}

async function lessonOf(subject: Subject): Promise<Lesson> {
  if (subject === 'names') return namesLesson();
  const answer = await fetch(new URL('../data/digits.csv.gz', import.meta.url));
  return digitsLesson(await answer.blob());
}

async function learn(lesson: Lesson): Promise<void> {
  let count = 0;
  let losses: number[] = [];
  let last = performance.now();
  const tell = (): void => {
    const now = performance.now();
    const { bytesInUse: bytes } = kn.deviceInfo();
    report({
      kind: 'losses',
      from: count - losses.length,
      losses,
      milliseconds: now - last,
      bytes,
    });
    [losses, last] = [[], now];
  };
  for (let epoch = 1; epoch <= lesson.epochs; epoch++) {
    for (const step of lesson.epoch()) {
      const [loss] = await step().data();
      losses.push(Number(loss));
      count++;
      if (performance.now() - last >= interval) tell();
    }
    tell();
    report({ kind: 'epoch', epoch, ...(await lesson.examine()) });
    last = performance.now();
  }
}

async function start({ subject, device, threads }: Order): Promise<void> {
  // In a worker of its own it holds int64, too: the labels.
  if (device !== 'cpu') await kn.initDevice(device, { worker: true });
  kn.config.device = device;
  kn.config.threads = threads;
  const lesson = await lessonOf(subject);
  report({ kind: 'started' });
  await learn(lesson);
  report({ kind: 'ended' });
}

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  start(data).catch((error: unknown) => report({ kind: 'failed', message: String(error) }));
});
