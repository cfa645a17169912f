import { expect, test } from "vitest";
import { documentOf } from "../../../../src/ui/browser/notebook/notebook-document.js";
import {
  formerRun,
  type NotebookRun,
  type RunPlan,
  runAfter,
  runAtEnd,
} from "../../../../src/ui/browser/notebook/notebook-run.js";
import type { NotebookLine } from "../../../../src/ui/page-data.js";

const document = documentOf("-- %%\nSELECT 1;\n-- %%\nSELECT\n  x;\n");
const [first = 0, second = 0] = document.cells.map(({ id }) => id);
const ALL: RunPlan = { document, ids: undefined };
const BEGIN: NotebookLine = { kind: "begin", title: "t", parameters: [], cells: 2 };
const FAULT: NotebookLine = { kind: "fault", fault: { message: "m", hint: null } };
const END: NotebookLine = { kind: "end" };
const cell = (line: number, html: string): Extract<NotebookLine, { kind: "cell" }> => ({
  kind: "cell",
  line,
  html,
  fault: null,
  results: [],
  tookMs: 1,
});

function after(lines: readonly NotebookLine[], plan = ALL, before?: NotebookRun): NotebookRun | undefined {
  return lines.reduce((run, line, at) => runAfter(run, line, plan, at), before);
}
const htmlOf = (run: NotebookRun | undefined): unknown =>
  [...(run?.outputs ?? [])].map(([id, { parts }]) => [id, parts.map(({ html }) => html)]);

test("a run is done at its end, and has its cells and its time", () => {
  const done = after([BEGIN, cell(1, "a"), cell(3, "b"), END]);
  expect(done).toMatchObject({ title: "t", done: 2, planned: 2, status: "done", tookMs: 3 });
  expect(htmlOf(done)).toEqual([
    [first, ["a"]],
    [second, ["b"]],
  ]);
  expect(runAtEnd(done)).toBe(done);
});

test("a run with a fault, or whose lines break off, has stopped; its cells remain", () => {
  expect(after([BEGIN, cell(1, "a")])).toMatchObject({ status: "running", done: 1 });
  const faulty = after([BEGIN, cell(1, "a"), FAULT]);
  expect(faulty?.status).toBe("stopped");
  expect(htmlOf(faulty)).toEqual([[first, ["a"]]]);
  expect(runAtEnd(after([BEGIN, cell(1, "a")]))?.status).toBe("stopped");
});

test("a fault before the begin is no run: the one before remains", () => {
  expect(after([FAULT])).toBeUndefined();
  expect(runAtEnd(undefined)).toBeUndefined();
});

test("a run of some cells leaves the others, and takes away what a requested cell no longer shows", () => {
  const whole = after([BEGIN, cell(1, "a"), cell(3, "b"), END]);
  const some: RunPlan = { document, ids: new Set([second]) };
  expect(htmlOf(after([BEGIN, cell(3, "c"), END], some, whole))).toEqual([
    [first, ["a"]],
    [second, ["c"]],
  ]);
  expect(htmlOf(after([BEGIN, END], some, whole))).toEqual([[first, ["a"]]]);
});

test("a result is of the text that gave it, and of a former run until a later one returns it", () => {
  const whole = after([BEGIN, cell(1, "a"), cell(3, "b"), END]);
  const some: RunPlan = { document, ids: new Set([first]) };
  const running = after([{ ...BEGIN, cells: 1 }], some, formerRun(whole, some.ids));
  const formerOf = (run: NotebookRun | undefined): unknown =>
    [...(run?.outputs ?? [])].map(([id, { isFormer }]) => [id, isFormer]);
  expect(formerOf(runAtEnd(running))).toEqual([
    [first, true],
    [second, false],
  ]);
  expect(formerOf(after([cell(1, "c"), END], some, running))).toEqual([
    [first, false],
    [second, false],
  ]);
  expect(whole?.outputs.get(second)?.body).toBe("-- %%\nSELECT\n  x;");
  expect(formerRun(undefined, undefined)).toBeUndefined();
});

test("a fault is at the row of its cell", () => {
  const fault = { line: 5, column: 2, message: "no x", hint: null };
  const run = after([BEGIN, { ...cell(3, "b"), fault }]);
  expect(run?.outputs.get(second)?.faults).toEqual([{ row: 2, column: 2, message: "no x", hint: null }]);
});
