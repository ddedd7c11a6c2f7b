import * as kn from '../../src/index.js';
import { parseDigits, shuffledBatches } from '../digits/data.js';
import { makeDigits } from '../digits/training.js';
import { wholeStep } from '../support/training.js';
import { answersOf, type Lesson, shownSamples } from './lesson.js';

/** The text of a file that is packed by gzip, unless it comes from a server that has the browser unpack it. */
async function unpacked(file: Blob): Promise<string> {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

/** Handwritten digits, told apart by a small convolutional network. */
export async function digitsLesson(file: Blob): Promise<Lesson> {
  const { train, test } = parseDigits(await unpacked(file));
  const [batchSize, epochs] = [64, 22];
  const steps = Math.floor(train.images.shape[0] / batchSize) * epochs;
  const training = makeDigits(kn.optim.schedule.cosine(0.005, { steps }));
  const step = wholeStep(training);
  const predict = kn.hybridize((images: kn.NDArray) => training.net.call(images));
  const pixels = await test.images.data();
  const labels = await test.labels.data();
  return {
    epochs,
    *epoch() {
      for (const batch of shuffledBatches(train, batchSize)) yield () => step(batch);
    },
    async examine() {
      const answers = await answersOf(predict(test.images));
      const right = answers.filter(({ answer }, i) => answer === Number(labels[i])).length;
      const samples = answers.slice(0, shownSamples).map(({ answer, confidence }, i) => ({
        shown: Float32Array.from(pixels.subarray(64 * i, 64 * (i + 1)), Number),
        answer: String(answer),
        expected: String(labels[i]),
        confidence,
      }));
      return { accuracy: right / answers.length, samples };
    },
  };
}
