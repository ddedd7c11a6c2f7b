import * as kn from '../../src/index.js';
import { alphabetOf, batchesOf, languages, loadNames } from '../names/data.js';
import { anySizes, makeNames, shuffledNames } from '../names/training.js';
import { wholeStep } from '../support/training.js';
import { type Answer, answersOf, type Lesson, shownSamples } from './lesson.js';

/** Names in ten languages, told apart by an LSTM that reads them letter by letter. */
export function namesLesson(): Lesson {
  const { train, test } = loadNames(24);
  const alphabet = alphabetOf(train);
  const [batchSize, epochs] = [64, 15];
  const steps = Math.ceil(train.length / batchSize) * epochs;
  const training = makeNames(alphabet, kn.optim.schedule.cosine(0.006, { steps }));
  const step = wholeStep(training, anySizes);
  const predict = kn.hybridize(
    (characters: kn.NDArray, lengths: kn.NDArray) => training.net.call(characters, lengths),
    { dynamic: [['batch', 'time'], ['batch']] },
  );
  const batches = batchesOf(test, alphabet, 256);
  // From all over the list, since names of one place stand together in it.
  const stride = Math.floor(test.length / shownSamples);
  return {
    epochs,
    *epoch() {
      for (const batch of batchesOf(shuffledNames(train), alphabet, batchSize)) {
        yield () => step(batch);
      }
    },
    async examine() {
      const answers: Answer[] = [];
      for (const { characters, lengths } of batches) {
        answers.push(...(await answersOf(predict(characters, lengths))));
      }
      const right = answers.filter(({ answer }, i) => answer === test[i].language).length;
      const samples = Array.from({ length: shownSamples }, (_, k) => {
        const { text, language } = test[k * stride];
        const { answer, confidence } = answers[k * stride];
        return {
          shown: text,
          answer: languages[answer],
          expected: languages[language],
          confidence,
        };
      });
      return { accuracy: right / test.length, samples };
    },
  };
}
