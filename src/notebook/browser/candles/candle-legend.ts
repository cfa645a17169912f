import { element } from "../drawing.js";

/** A value in the legend: a price, the volume, or a line of the chart with its colour. */
export interface LegendEntry {
  readonly name: string;
  readonly text: string;
  readonly color?: string;
}

/** A line above a chart that shows one bar and its values. It may wrap; its height never decreases. */
export class CandleLegend {
  readonly #place: HTMLElement;
  #height = 0;

  constructor(parent: HTMLElement) {
    this.#place = element(parent, "div", "legend");
  }

  /** @param when the date or time of the bar. */
  show(when: string, entries: readonly LegendEntry[]): void {
    this.#place.replaceChildren();
    element(this.#place, "b", "when", when);
    for (const { name, text, color } of entries) {
      const entry = element(this.#place, "span", "entry");
      const label = element(entry, "i", "", name);
      if (color !== undefined) label.style.color = color;
      entry.append(` ${text}`);
    }
    this.#height = Math.max(this.#height, this.#place.offsetHeight);
    this.#place.style.minHeight = `${this.#height}px`;
  }
}
