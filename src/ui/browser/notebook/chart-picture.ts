/** Height of the line of the title above the chart, in pixels. */
const TITLE_HEIGHT = 32;
const NAMESPACE = "http://www.w3.org/2000/svg";

/** A text of a chart, as the page shows it: the middle of its left edge, in pixels from the corner of the chart. */
interface PlacedText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight: string;
  readonly colour: string;
}

/**
 * A drawn chart as a file of its own: its title, its legends and its drawing, at their places and with the colours of the
 * page. SVG, or PNG of candles, which are drawn on layers of canvases. Undefined where nothing is drawn yet.
 */
export async function chartPicture(
  figure: HTMLElement,
): Promise<{ readonly blob: Blob; readonly name: string } | undefined> {
  const title = figure.getAttribute("aria-label") ?? "chart";
  const canvases = [...figure.querySelectorAll("canvas")];
  const drawings = [...figure.querySelectorAll("svg")].filter((svg) => isOutermost(svg, figure));
  if (canvases.length > 0) {
    const blob = await pngOf(figure, canvases, title);
    return blob === null ? undefined : { blob, name: `${title}.png` };
  }
  if (drawings.length === 0) return undefined;
  return { blob: svgOf(figure, drawings, title), name: `${title}.svg` };
}

function isOutermost(svg: SVGElement, figure: HTMLElement): boolean {
  return svg.parentElement?.closest("svg") == null && figure.contains(svg);
}

function svgOf(figure: HTMLElement, drawings: readonly SVGSVGElement[], title: string): Blob {
  const { paper, ink, family } = pageStyle();
  const place = figure.getBoundingClientRect();
  const [width, height] = [Math.ceil(place.width), Math.ceil(place.height) + TITLE_HEIGHT];
  const whole = document.createElementNS(NAMESPACE, "svg");
  const add = (parent: SVGElement, tag: string, values: Readonly<Record<string, string | number>>) => {
    const made = parent.appendChild(document.createElementNS(NAMESPACE, tag));
    for (const [name, value] of Object.entries(values)) made.setAttribute(name, String(value));
    return made;
  };
  whole.setAttribute("viewBox", `0 0 ${width} ${height}`);
  whole.setAttribute("width", String(width));
  whole.setAttribute("height", String(height));
  whole.setAttribute("style", `color:${ink};font-family:${family}`);
  add(whole, "title", {}).textContent = title;
  add(whole, "rect", { width, height, fill: paper });
  for (const { text, x, y, size, weight, colour } of [titleText(title), ...textsOf(figure)])
    add(whole, "text", {
      x,
      y,
      "font-size": size,
      "font-weight": weight,
      fill: colour,
      "dominant-baseline": "central",
    }).textContent = text;
  for (const drawing of drawings) {
    const at = drawing.getBoundingClientRect();
    const copy = withColours(drawing);
    copy.setAttribute("x", String(at.left - place.left));
    copy.setAttribute("y", String(at.top - place.top + TITLE_HEIGHT));
    copy.setAttribute("width", String(at.width));
    copy.setAttribute("height", String(at.height));
    whole.append(copy);
  }
  return new Blob([new XMLSerializer().serializeToString(whole)], { type: "image/svg+xml" });
}

/** A copy whose colours are values, where the drawing names those of the page. */
function withColours(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const parts = [drawing, ...drawing.querySelectorAll("*")];
  for (const [at, part] of [copy, ...copy.querySelectorAll("*")].entries())
    for (const name of ["fill", "stroke"] as const)
      if (part.getAttribute(name)?.startsWith("var(") === true)
        part.setAttribute(name, getComputedStyle(parts[at] as Element)[name]);
  return copy;
}

function pngOf(
  figure: HTMLElement,
  canvases: readonly HTMLCanvasElement[],
  title: string,
): Promise<Blob | null> {
  const { paper, family } = pageStyle();
  const place = figure.getBoundingClientRect();
  const scale = devicePixelRatio;
  const whole = document.createElement("canvas");
  whole.width = Math.ceil(place.width * scale);
  whole.height = Math.ceil((place.height + TITLE_HEIGHT) * scale);
  const pen = whole.getContext("2d");
  if (pen === null) return Promise.resolve(null);
  pen.scale(scale, scale);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, whole.width, whole.height);
  for (const canvas of canvases) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    if (canvas.width > 0 && canvas.height > 0)
      pen.drawImage(canvas, left - place.left, top - place.top + TITLE_HEIGHT, width, height);
  }
  pen.textBaseline = "middle";
  for (const { text, x, y, size, weight, colour } of [titleText(title), ...textsOf(figure)]) {
    pen.font = `${weight} ${size}px ${family}`;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  }
  return new Promise((resolve) => whole.toBlob(resolve, "image/png"));
}

function titleText(text: string): PlacedText {
  const { ink: colour } = pageStyle();
  return { text, x: 0, y: TITLE_HEIGHT / 2, size: 15, weight: "700", colour };
}

/** The texts of a chart's legends, which are elements of the page beside its drawing, below the line of the title. */
function textsOf(figure: HTMLElement): PlacedText[] {
  const place = figure.getBoundingClientRect();
  const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const found: PlacedText[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const { parentElement: parent } = node;
    const content = node.textContent ?? "";
    const text = content.trim();
    if (parent === null || text === "" || parent.closest("svg, style") !== null) continue;
    // Without the blanks around it, which no picture shows.
    range.setStart(node, content.length - content.trimStart().length);
    range.setEnd(node, content.trimEnd().length);
    const { left, top, height } = range.getBoundingClientRect();
    const { fontSize, fontWeight, color } = getComputedStyle(parent);
    found.push({
      text,
      x: left - place.left,
      y: top + height / 2 - place.top + TITLE_HEIGHT,
      size: Number.parseFloat(fontSize),
      weight: fontWeight,
      colour: color,
    });
  }
  return found;
}

function pageStyle(): { readonly paper: string; readonly ink: string; readonly family: string } {
  const { backgroundColor: paper, color: ink, fontFamily: family } = getComputedStyle(document.body);
  return { paper, ink, family };
}
