/** Dots of a character of Braille, by column and by row from above. */
const DOTS: readonly (readonly number[])[] = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
];

/** A field of dots for a terminal: two by four in a character. */
export class BrailleCanvas {
  readonly columns: number;
  readonly lines: number;
  readonly #cells: { dots: number; layer: number }[];

  constructor(columns: number, lines: number) {
    this.columns = columns;
    this.lines = lines;
    this.#cells = Array.from({ length: columns * lines }, () => ({ dots: 0, layer: 0 }));
  }

  /** Sets the dot at a position, from 0 to 1 each way, from the left and from below; of several layers in one place the last one is shown. */
  dot(x: number, y: number, layer = 0): void {
    this.#set(Math.round(x * (this.columns * 2 - 1)), Math.round((1 - y) * (this.lines * 4 - 1)), layer);
  }

  /** Draws a line between two places. */
  line(from: readonly [number, number], to: readonly [number, number], layer = 0): void {
    const across = Math.abs(to[0] - from[0]) * this.columns * 2;
    const up = Math.abs(to[1] - from[1]) * this.lines * 4;
    const steps = Math.max(1, Math.ceil(Math.max(across, up)));
    for (let step = 0; step <= steps; step++) {
      const part = step / steps;
      this.dot(from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part, layer);
    }
  }

  /** The lines of text, from above. @param colour paints a character of a layer. */
  text(colour: (layer: number, character: string) => string): string[] {
    return Array.from({ length: this.lines }, (_, line) =>
      this.#cells
        .slice(line * this.columns, (line + 1) * this.columns)
        .map(({ dots, layer }) => (dots === 0 ? " " : colour(layer, String.fromCodePoint(0x2800 + dots))))
        .join("")
        .trimEnd(),
    );
  }

  #set(column: number, row: number, layer: number): void {
    const cell = this.#cells[Math.floor(row / 4) * this.columns + Math.floor(column / 2)];
    if (cell === undefined) return;
    cell.dots |= DOTS[column % 2]?.[row % 4] ?? 0;
    cell.layer = layer;
  }
}
