import UPlot from 'uplot';

/** Distances between labels of steps, which are whole numbers. */
const wholeDistances = [1, 10, 100, 1000, 10_000].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

/** A line chart of losses by step, which grows. */
export class LossChart {
  readonly #chart: UPlot;
  #steps: number[] = [];
  #losses: number[] = [];

  constructor(place: HTMLElement) {
    const { clientWidth: width } = place;
    const options: UPlot.Options = {
      width,
      height: 280,
      scales: { x: { time: false } },
      series: [{ label: 'step' }, { label: 'loss', stroke: '#26c', width: 1 }],
      axes: [{ label: 'step', incrs: wholeDistances }, { label: 'loss' }],
    };
    this.#chart = new UPlot(options, [[], []], place);
  }

  /** Adds the losses of consecutive steps. */
  add(from: number, losses: readonly number[]): void {
    losses.forEach((loss, i) => {
      this.#steps.push(from + i);
      this.#losses.push(loss);
    });
    this.#chart.setData([this.#steps, this.#losses]);
  }

  clear(): void {
    [this.#steps, this.#losses] = [[], []];
    this.#chart.setData([this.#steps, this.#losses]);
  }
}
