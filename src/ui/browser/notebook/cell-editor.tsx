import { useEffect, useRef } from "preact/hooks";
import type { CodeEditor, EditorLinks } from "./editor/code-editor.js";
import type { PlacedFault } from "./run/notebook-run.js";

/**
 * The editor of a cell. It starts with the cell's text; a text that another part of the page sets belongs to a new
 * cell. Its script is loaded when a cell is edited for the first time.
 */
export function CellEditor({
  text,
  faults,
  links,
  isFocused,
}: {
  readonly text: string;
  readonly faults: readonly PlacedFault[];
  readonly links: EditorLinks;
  /** Whether the editor is focused when it opens. */
  readonly isFocused: boolean;
}) {
  const element = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);
  // The editor remains open while the page is drawn again. It reads the newest values from this reference.
  const now = useRef({ text, faults, links });
  now.current = { text, faults, links };
  useEffect(() => {
    let isGone = false;
    const open = async (): Promise<void> => {
      const { openCodeEditor } = await import("./editor/code-editor.js");
      const { current: parent } = element;
      if (isGone || parent === null) return;
      editor.current = openCodeEditor(parent, now.current.text, {
        label: now.current.links.label,
        onChange: (typed) => now.current.links.onChange(typed),
        catalog: () => now.current.links.catalog(),
        parameters: () => now.current.links.parameters(),
        run: () => now.current.links.run(),
        runAndNext: () => now.current.links.runAndNext(),
      });
      editor.current.setFaults(now.current.faults);
      if (isFocused) editor.current.focus();
    };
    void open();
    return () => {
      isGone = true;
      editor.current?.close();
      editor.current = undefined;
    };
  }, []);
  useEffect(() => editor.current?.setFaults(faults), [faults]);
  return <div class="cell-editor" ref={element} />;
}
