import { expect, test } from "vitest";
import { clearNotes, noteOnFailure, notesOfHooks, notesOfTest } from "./failure-notes.js";

test("what failed shows the notes, a test or a hook; what passed does not", () => {
  const end = noteOnFailure({ subject: "the log", text: () => "last line\n" });
  expect(notesOfTest({ name: "t", result: { state: "fail" } })).toBe("the log:\nlast line");
  expect(notesOfTest({ name: "t", result: { state: "pass" } })).toBeUndefined();
  const failedTest = { name: "t", result: { state: "fail", errors: [1] } };
  const failedHook = { name: "s", result: { state: "fail", errors: [1] }, tasks: [] };
  expect(notesOfHooks({ name: "f", tasks: [failedTest] })).toBeUndefined();
  expect(notesOfHooks({ name: "f", tasks: [failedTest, failedHook] })).toBe("the log:\nlast line");
  end();
  expect(notesOfTest({ name: "t", result: { state: "fail" } })).toBeUndefined();
  noteOnFailure({ subject: "the log", text: () => "" });
  expect(notesOfTest({ name: "t", result: { state: "fail" } })).toBe("the log:\n(nothing)");
  clearNotes();
  expect(notesOfTest({ name: "t", result: { state: "fail" } })).toBeUndefined();
});
