import { expect, test } from "vitest";
import { type Entry, EntryReader } from "../../../src/cli/shell/run-entry.js";

function read(...lines: readonly string[]): readonly Pick<Entry, "kind" | "text" | "line">[] {
  const reader = new EntryReader();
  const entries = [...lines.flatMap((line) => reader.take(line)), ...reader.end()];
  return entries.map(({ kind, text, line }) => ({ kind, text, line }));
}

test("statements span lines, and know where they begin", () => {
  expect(read("", "-- note", "SELECT", "  1;", "SELECT 2; SELECT", "3;", "SELECT 4")).toEqual([
    { kind: "statement", text: "SELECT\n  1", line: 3 },
    { kind: "statement", text: "SELECT 2", line: 5 },
    { kind: "statement", text: "SELECT\n3", line: 5 },
    { kind: "statement", text: "SELECT 4", line: 7 },
  ]);
});

test("a dot begins a command between statements alone", () => {
  expect(read(".tables", "SELECT 1", ".5;", "  .mode wide ")).toEqual([
    { kind: "command", text: ".tables", line: 1 },
    { kind: "statement", text: "SELECT 1\n.5", line: 2 },
    { kind: "command", text: ".mode wide", line: 4 },
  ]);
});

test("the written text shows whether a blank came first", () => {
  const written = (...lines: string[]) => {
    const reader = new EntryReader();
    return lines.flatMap((line) => reader.take(line)).map((entry) => entry.written);
  };
  expect(written("SELECT", "  1;")).toEqual(["SELECT\n  1;"]);
  expect(written(" SELECT 1;")).toEqual([" SELECT 1;"]);
  expect(written(" .read x")).toEqual([" .read x"]);
});

test("what is left at the end is a statement, also with an open quote", () => {
  const reader = new EntryReader();
  expect(reader.take("SELECT 1;").map(({ text }) => text)).toEqual(["SELECT 1"]);
  expect(reader.take("SELECT 'unfinished")).toEqual([]);
  expect(reader.end()).toMatchObject([{ kind: "statement", text: "SELECT 'unfinished", line: 2 }]);
  expect(reader.end()).toEqual([]);
});
