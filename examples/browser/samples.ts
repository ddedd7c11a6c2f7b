import type { Sample } from './messages.js';

/** An image of 8 by 8 pixels from 0 (white) to 1 (black). */
function drawing(pixels: Float32Array): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 8;
  const image = new ImageData(8, 8);
  pixels.forEach((pixel, i) => {
    const shade = Math.round(255 * (1 - pixel));
    image.data.set([shade, shade, shade, 255], 4 * i);
  });
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}

/** A figure with an example and the network's answer. */
function figure({ shown, answer, expected, confidence }: Sample): HTMLElement {
  const made = document.createElement('figure');
  const caption = document.createElement('figcaption');
  const isRight = answer === expected;
  made.classList.toggle('wrong', !isRight);
  caption.textContent = `${answer} (${Math.round(100 * confidence)} %)${isRight ? '' : `, is ${expected}`}`;
  made.append(typeof shown === 'string' ? shown : drawing(shown), caption);
  return made;
}

/** Shows examples in the place of those that were there. */
export function showSamples(place: HTMLElement, samples: readonly Sample[]): void {
  place.replaceChildren(...samples.map(figure));
}
