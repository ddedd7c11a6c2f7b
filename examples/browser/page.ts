import { LossChart } from './loss-chart.js';
import type { Order, Report } from './messages.js';
import { showSamples } from './samples.js';

/** An element of the page by its id. */
function part<E extends HTMLElement>(id: string, type: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`the page has no ${type.name} called ${id}`);
}

const form = part('choices', HTMLFormElement);
const stop = part('stop', HTMLButtonElement);
const message = part('message', HTMLElement);
const samples = part('samples', HTMLElement);
const chart = new LossChart(part('chart', HTMLElement));

function show(id: string, text: string): void {
  part(id, HTMLElement).textContent = text;
}

/** The worker that trains; null where none does. Each run has one of its own, with a fresh network. */
let worker: Worker | null = null;

function say(text: string, isFailure = false): void {
  message.textContent = text;
  message.classList.toggle('failed', isFailure);
}

function end(text: string, isFailure = false): void {
  worker?.terminate();
  worker = null;
  stop.disabled = true;
  say(text, isFailure);
}

function take(report: Report): void {
  switch (report.kind) {
    case 'started':
      return say('Training.');
    case 'losses': {
      const { from, losses, milliseconds, bytes } = report;
      const last = losses.at(-1);
      if (last === undefined) return;
      chart.add(from, losses);
      show('step', String(from + losses.length));
      show('loss', last.toFixed(4));
      const speed = (1000 * losses.length) / milliseconds;
      show('speed', `${speed < 10 ? speed.toPrecision(2) : speed.toFixed(0)} steps a second`);
      return show('memory', `${(bytes / 2 ** 20).toFixed(1)} MiB`);
    }
    case 'epoch':
      show('accuracy', `${(100 * report.accuracy).toFixed(1)} % after epoch ${report.epoch}`);
      return showSamples(samples, report.samples);
    case 'ended':
      return end('The training has ended.');
    case 'failed':
      return end(report.message, true);
  }
}

function start(order: Order): void {
  end('Loading.');
  chart.clear();
  samples.replaceChildren();
  for (const id of ['step', 'loss', 'speed', 'memory', 'accuracy']) show(id, '–');
  worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<Report>) => take(data));
  worker.addEventListener('error', (event) => end(event.message || 'The worker failed.', true));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a worker, not a window
  worker.postMessage(order);
  stop.disabled = false;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const choices = new FormData(form);
  start({
    subject: choices.get('subject') === 'names' ? 'names' : 'digits',
    device: choices.get('device') === 'webgpu' ? 'webgpu' : 'cpu',
    threads: Number(choices.get('threads')),
  });
});

stop.addEventListener('click', () => end('Stopped.'));
