import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BeamSpeller, searchBeam } from '../../examples/decoding/beam.js';
import { end, spellingBatch } from '../../examples/decoding/data.js';
import { GreedySpeller, type Spelled, spellGreedily } from '../../examples/decoding/greedy.js';
import { Speller } from '../../examples/decoding/model.js';
import { alphabetOf, loadNames } from '../../examples/names/data.js';
import { compareForms, forms } from '../../examples/support/forms.js';
import { makeSpeller, runDecoding } from '../../examples/decoding/run.js';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

const ints = (values: number | readonly number[]): kn.NDArray =>
  kn.array(values, { dtype: 'int32' });

/** A speller of three characters whose weights are so large that it has opinions. */
function smallSpeller(seed: number): Speller {
  const speller = new Speller({ alphabet: 3, languages: 4, size: 5 }).initialize();
  kn.random.seed(seed);
  for (const parameter of speller.parameters().values()) {
    parameter.assign(kn.random.normal(parameter.value.shape));
  }
  return speller;
}

interface Scored {
  readonly characters: readonly number[];
  readonly score: number;
}

/**
 * All names of a language that end within `longest` characters or are cut off there, with their scores,
 * best first. Works out each of them with plain recursion.
 */
function allNames(
  speller: Speller,
  language: number,
  longest: number,
  penalty: (length: number) => number,
): Scored[] {
  const found: Scored[] = [];
  const visit = (characters: readonly number[], state: kn.NDArray, score: number): void => {
    const last = characters.at(-1);
    if (characters.length === longest || last === end) {
      found.push({ characters, score: score / penalty(characters.length) });
      return;
    }
    const [logits, next] = speller.step(ints([last ?? end]), state);
    [...logits.dataSync()].forEach((logit, character) =>
      visit([...characters, character], next, score + Number(logit)),
    );
  };
  visit([], speller.beginState(ints([language])), 0);
  return found.sort((a, b) => b.score - a.score);
}

/** Characters without the ends behind the first one. */
function trimmed(characters: readonly number[]): number[] {
  const at = characters.indexOf(end);
  return characters.slice(0, at < 0 ? undefined : at + 1);
}

const rows = (array: kn.NDArray): number[][] => array.tolist() as number[][];

test('a beam that holds all beginnings finds the best names of all, in order', () => {
  const longest = 4;
  let differences = 0;
  for (const lengthPenalty of [0, 1]) {
    const speller = smallSpeller(4);
    for (let language = 0; language < 4; language++) {
      const best = allNames(
        speller, language, longest, (length) => ((5 + length) / 6) ** lengthPenalty,
      ); // prettier-ignore
      // After 4 characters there are 2 ** 4 + 2 ** 3 + 4 + 2 + 1 names at most.
      const found = searchBeam(speller, ints(language), { width: 31, longest, lengthPenalty });
      const count = best.length;
      assert.ok(count > 16);
      assert.deepEqual(rows(found.characters).slice(0, count).map(trimmed), best.map(({ characters }) => characters)); // prettier-ignore
      assertClose(found.scores.slice([0, count]).dataSync(), best.map(({ score }) => score), 1e-5); // prettier-ignore
      const [greedy] = rows(spellGreedily(speller, ints([language]), longest).characters.transpose()); // prettier-ignore
      if (String(trimmed(greedy)) !== String(best[0].characters)) differences++;
    }
  }
  assert.ok(differences > 0, 'nowhere is the best name another than the greedy one');
});

test('a beam of one is greedy spelling', () => {
  for (const seed of [1, 2, 3]) {
    const speller = smallSpeller(seed);
    const greedy = spellGreedily(speller, ints([0, 1, 2, 3]), 6);
    rows(greedy.characters.transpose()).forEach((characters, language) => {
      const found = searchBeam(speller, ints(language), { width: 1, longest: 6 });
      assert.deepEqual(trimmed(rows(found.characters)[0]), trimmed(characters));
      assertClose(found.scores.dataSync(), [Number(greedy.score.slice(language).item())]);
    });
  }
});

test('spelling ends with the longest name, or at the limit', () => {
  const speller = smallSpeller(1);
  const lengths = Array.from({ length: 12 }, (_, seed) => {
    const [characters] = rows(spellGreedily(smallSpeller(seed), ints([0]), 5).characters.transpose());
    assert.ok(characters.length === 5 || characters.at(-1) === end);
    return characters.length;
  }); // prettier-ignore
  assert.ok(new Set(lengths).size > 1, String(lengths));
  assert.deepEqual(spellGreedily(speller, ints([0, 1]), 0).characters.shape, [0, 2]);
});

/** A graph that was written to JSON and read again. */
function reloaded(graph: kn.StaticGraph): kn.StaticGraph {
  return kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())));
}

test('spellings are the same as written, captured and reloaded', () => {
  const speller = smallSpeller(2);
  const languages = ints([3, 1, 0]);
  const expected = spellGreedily(speller, languages, 6);
  const net = new GreedySpeller(speller, 6).hybridize({ dynamic: [['names']] });
  const check = (actual: Spelled, wanted: Spelled): void => {
    assert.deepEqual(actual.characters.tolist(), wanted.characters.tolist());
    assertClose(actual.score.dataSync(), wanted.score.dataSync());
  };
  check(net.call(languages), expected);
  const graph = reloaded(net.graphFor(languages));
  const [languagesName] = graph.inputNames;
  const [characters, score] = graph.outputNames;
  for (const some of [languages, ints([2]), ints([0, 1, 2, 3, 0])]) {
    const results = graph.run({ [languagesName]: some });
    check(
      { characters: results[characters], score: results[score] },
      spellGreedily(speller, some, 6),
    );
  }
});

test('a beam search is the same as written, captured and reloaded', () => {
  const speller = smallSpeller(3);
  const options = { width: 4, longest: 6, lengthPenalty: 1 };
  const net = new BeamSpeller(speller, options).hybridize();
  const graph = reloaded(net.graphFor(ints(0)));
  const [languageName] = graph.inputNames;
  const [characters, scores] = graph.outputNames;
  for (let language = 0; language < 4; language++) {
    const expected = searchBeam(speller, ints(language), options);
    const captured = net.call(ints(language));
    assert.deepEqual(captured.characters.tolist(), expected.characters.tolist());
    assertClose(captured.scores.dataSync(), expected.scores.dataSync());
    const results = graph.run({ [languageName]: ints(language) });
    assert.deepEqual(results[characters].tolist(), expected.characters.tolist());
    assertClose(results[scores].dataSync(), expected.scores.dataSync());
  }
});

test('a speller of names learns to spell in one program, and searches find better names than greed', () => {
  const { logProbability, baseline, explanation, speller } = runDecoding({
    epochs: 3,
    longest: 6,
    batchSize: 32,
    size: 48,
  });
  assert.ok(logProbability > baseline + 0.3, `${logProbability}, and ${baseline} by frequency`);
  assert.equal(explanation.traces.length, 1);
  const languages = ints([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const greedy = [...spellGreedily(speller, languages, 8).score.dataSync()].map(Number);
  const net = new BeamSpeller(speller, { width: 20, longest: 8 }).hybridize();
  const searched = greedy.map((_, language) =>
    Number(net.call(ints(language)).scores.slice(0).item()),
  );
  assert.ok(searched.filter((score, i) => score > greedy[i] + 1e-4).length > 5);
});

test('a training step is the same in every form', () => {
  const names = loadNames(6).train.slice(0, 5);
  const alphabet = alphabetOf(names);
  const batch = spellingBatch(names, alphabet);
  // The comparison throws where losses differ.
  assert.deepEqual(Object.keys(compareForms(() => makeSpeller(1 + alphabet.size, 6), batch, 1)), [
    ...forms,
  ]);
});
