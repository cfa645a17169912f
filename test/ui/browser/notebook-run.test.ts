import { expect, test } from "vitest";
import { type NotebookRun, runAfter, runAtEnd } from "../../../src/ui/browser/notebook-run.js";
import type { NotebookLine } from "../../../src/ui/page-data.js";

const BEGIN: NotebookLine = { kind: "begin", title: "t", parameters: [], cells: 2 };
const CELL: NotebookLine = { kind: "cell", html: "<p>", tookMs: 1 };
const FAULT: NotebookLine = { kind: "fault", fault: { message: "m", hint: null } };

function after(...lines: readonly NotebookLine[]): NotebookRun | undefined {
  return lines.reduce<NotebookRun | undefined>((run, line, at) => runAfter(run, line, at), undefined);
}

test("a run is done at its end, and has its cells and its time", () => {
  const done = after(BEGIN, CELL, CELL, { kind: "end" });
  expect(done).toEqual({
    title: "t",
    parameters: [],
    cells: [CELL, CELL],
    planned: 2,
    status: "done",
    tookMs: 3,
  });
  expect(runAtEnd(done)).toBe(done);
});

test("a run with a fault, or whose lines break off, has stopped; its cells stay", () => {
  expect(after(BEGIN, CELL)).toMatchObject({ status: "running", cells: [CELL] });
  expect(after(BEGIN, CELL, FAULT)).toMatchObject({ status: "stopped", cells: [CELL] });
  expect(runAtEnd(after(BEGIN, CELL))).toMatchObject({ status: "stopped", cells: [CELL] });
});

test("a fault before the begin is no run: the one before stays", () => {
  expect(after(FAULT)).toBeUndefined();
  expect(runAtEnd(undefined)).toBeUndefined();
});
