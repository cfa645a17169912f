import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNotebook } from "../../../../src/notebook/parse/parse-notebook.js";
import {
  documentOf,
  editedText,
  type NotebookDocument,
  placeOf,
  textOf,
  withEdited,
  withMoved,
  withNewCell,
  withoutCell,
  withRestored,
} from "../../../../src/ui/browser/notebook/notebook-document.js";

const LINE = fc.constantFrom("-- %%", "-- %% table", "-- %% param a = 1", "-- prose", "SELECT 1;", "", " x");
const TEXT = fc
  .tuple(
    fc.constantFrom("", "\uFEFF"),
    fc.array(fc.tuple(LINE, fc.constantFrom("\n", "\r\n", "\r"))),
    fc.constantFrom("", "SELECT 2", "-- %%"),
  )
  .map(([mark, lines, last]) => mark + lines.map((parts) => parts.join("")).join("") + last);
/** What an editor shows: it ends every line in the same way. */
const shown = (text: string): string => text.replaceAll(/\r\n?/g, "\n");
const idAt = ({ cells }: NotebookDocument, at: number): number => cells[at]?.id ?? -1;

test("a cell whose text ends with empty lines is the same cell when another editor is left", () => {
  const document = documentOf("SELECT 1;\n\n-- %%\nSELECT 2;\n");
  const id = idAt(document, 0);
  const typed = withEdited(document, id, "SELECT 1;\n\n");
  const left = documentOf(textOf(typed), typed);
  expect(left.cells).toEqual(typed.cells);
  expect(textOf(withEdited(left, id, "SELECT 1;\n\n3"))).toBe("SELECT 1;\n\n3\n\n-- %%\nSELECT 2;\n");
});

describe("the text of a document", () => {
  test("is the notebook's, byte for byte, also when cells are shown and not changed", () => {
    fc.assert(
      fc.property(TEXT, (text) => {
        const document = documentOf(text);
        expect(textOf(document)).toBe(text);
        const touched = document.cells.reduce(
          (now, { id, body }) => withEdited(now, id, shown(body)),
          document,
        );
        expect(textOf(touched)).toBe(text);
      }),
    );
  });

  test("changes where a cell was edited, and nowhere else", () => {
    fc.assert(
      fc.property(TEXT, fc.nat(), fc.string(), (text, n, typed) => {
        const document = documentOf(text);
        const at = n % document.cells.length;
        const edited = withEdited(document, idAt(document, at), typed);
        expect(shown(edited.cells[at]?.body ?? "")).toBe(shown(typed));
        const others = ({ cells }: NotebookDocument): unknown => cells.toSpliced(at, 1);
        expect(others(edited)).toEqual(others(document));
      }),
    );
  });

  test("preserves the ends of unchanged lines; new lines end as the first one", () => {
    expect(editedText("a\r\nb\nc", "a\nx\nb\nc")).toBe("a\r\nx\r\nb\nc");
    expect(editedText("a\nb\r\nc\r\n", "b\nc\n")).toBe("b\r\nc\r\n");
    expect(editedText("", "a\nb")).toBe("a\nb");
    expect(editedText("a\r\nb", "")).toBe("");
  });
});

describe("cells", () => {
  const TEXT_OF_THREE = "-- # Title\n\n-- %%\nSELECT 1;\n\n-- %%\nSELECT 2;";

  test("are added, as the parser sees them too", () => {
    const before = documentOf(TEXT_OF_THREE);
    const { document, id } = withNewCell(before, idAt(before, 1));
    expect(textOf(document)).toBe("-- # Title\n\n-- %%\nSELECT 1;\n\n-- %%\n\n-- %%\nSELECT 2;");
    expect(document.cells[2]?.id).toBe(id);
    const last = withNewCell(before, idAt(before, 2));
    expect(textOf(last.document)).toBe(`${TEXT_OF_THREE}\n-- %%\n`);
    expect(textOf(withNewCell(documentOf(""), undefined).document)).toBe("-- %%\n");
  });

  test("are moved; what had no directive gets one when something is above it", () => {
    const before = documentOf(TEXT_OF_THREE);
    expect(textOf(withMoved(before, idAt(before, 2), -1))).toBe(
      "-- # Title\n\n-- %%\nSELECT 2;\n-- %%\nSELECT 1;\n\n",
    );
    const moved = withMoved(before, idAt(before, 0), 1);
    expect(textOf(moved)).toBe("-- %%\nSELECT 1;\n\n-- %%\n-- # Title\n\n-- %%\nSELECT 2;");
    expect(parseNotebook(textOf(moved), "a").cells).toHaveLength(3);
    expect(withMoved(before, idAt(before, 0), -1)).toBe(before);
    expect(withMoved(before, idAt(before, 2), 1)).toBe(before);
  });

  test("are deleted, and come back where they were", () => {
    const before = documentOf(TEXT_OF_THREE);
    const [, second] = before.cells;
    const without = withoutCell(before, second?.id ?? -1);
    expect(textOf(without)).toBe("-- # Title\n\n-- %%\nSELECT 2;");
    expect(second && textOf(withRestored(without, second, 1))).toBe(TEXT_OF_THREE);
    const one = documentOf("SELECT 1;");
    expect(textOf(withoutCell(one, idAt(one, 0)))).toBe("");
  });

  test("have the same ids while their text is the same; a directive that was typed begins another one", () => {
    const before = documentOf(TEXT_OF_THREE);
    const typed = withEdited(before, idAt(before, 1), "-- %%\nSELECT 1;\n-- %%\nSELECT 3;");
    const after = documentOf(textOf(typed), typed);
    expect(after.cells).toHaveLength(4);
    expect([idAt(after, 0), idAt(after, 3)]).toEqual([idAt(before, 0), idAt(before, 2)]);
    expect(new Set(after.cells.map(({ id }) => id)).size).toBe(4);
  });
});

test("every line of the parser's cells has its place", () => {
  const text = "-- # T\r\n-- %% param a = 1\r\n\r\n-- %%\r\nSELECT 1;\r\n-- %%\r\n\r\nSELECT 2;";
  const document = documentOf(text);
  const places = [1, 2, 4, 5, 8].map((line) => placeOf(document, line));
  expect(places.map((place) => [document.cells.findIndex(({ id }) => id === place?.id), place?.row])).toEqual(
    [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
      [2, 2],
    ],
  );
});
