/**
 * Moves the labels of a chart's time axis that an edge would cut, so that they are drawn within the axis. The library
 * does so only at the ends of the data.
 *
 * @param element the element that contains the chart.
 */
export function fitTimeLabels(element: HTMLElement): void {
  // The last row of the chart is the time axis. Its first canvas has the labels, the second one that of the pointer.
  const canvas = element.querySelector<HTMLCanvasElement>("tr:last-child td:nth-child(2) canvas");
  const context = canvas?.getContext("2d");
  if (canvas == null || context == null) return;
  const draw = context.fillText.bind(context);
  context.fillText = (text, x, y) => {
    const half = context.measureText(text).width / 2;
    const width = canvas.clientWidth;
    // A label of a bar outside of the view is left out.
    if (x >= 0 && x <= width) draw(text, Math.min(Math.max(x, half), width - half), y);
  };
}
