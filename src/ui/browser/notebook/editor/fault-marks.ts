import { type EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { PlacedFault } from "../run/notebook-run.js";
import { faultRange } from "./fault-range.js";

const setMarks = StateEffect.define<DecorationSet>();

/** Errors in the text. The position is underlined, and the message is below its line. Both move with the text. */
export const faultMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects }) => {
    const set = effects.find((effect) => effect.is(setMarks));
    return set === undefined ? marks.map(changes) : set.value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The effect that replaces the shown faults. */
export function showFaults({ doc }: EditorState, faults: readonly PlacedFault[]): StateEffect<DecorationSet> {
  const marks = faults.flatMap((fault) => {
    const line = doc.line(Math.min(doc.lines, fault.row + 1));
    const { from, to } = faultRange(line.text, fault.column);
    const below = Decoration.widget({ widget: new FaultText(fault), block: true, side: 1 }).range(line.to);
    if (from === to) return [below];
    const under = Decoration.mark({ class: "cm-fault" });
    return [under.range(line.from + from, line.from + to), below];
  });
  return setMarks.of(Decoration.set(marks, true));
}

/** The message of a fault, and what to do next. */
class FaultText extends WidgetType {
  readonly #fault: PlacedFault;

  constructor(fault: PlacedFault) {
    super();
    this.#fault = fault;
  }

  override eq(other: FaultText): boolean {
    return other.#fault.message === this.#fault.message && other.#fault.hint === this.#fault.hint;
  }

  toDOM(): HTMLElement {
    const box = document.createElement("div");
    box.className = "fault-below";
    box.setAttribute("role", "alert");
    const { message, hint } = this.#fault;
    for (const [tag, text] of [
      ["pre", message],
      ["p", hint],
    ] as const)
      if (text !== null) box.appendChild(document.createElement(tag)).textContent = text;
    return box;
  }
}
