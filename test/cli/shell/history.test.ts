import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { History } from "../../../src/cli/shell/run-shell.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const historyFile = (): string => join(temporaryFolder(), "state", "barlake", "sql_history");

test("stores what was entered, the newest first, each once, for its user alone", () => {
  const file = historyFile();
  const history = new History(file);
  expect(history.read()).toEqual([]);
  for (const entry of ["SELECT 1;", ".tables", "SELECT\n  2 -- two\n;", "SELECT 1;"]) history.add(entry);
  expect(new History(file).read()).toEqual(["SELECT 1;", "SELECT 2 ;", ".tables"]);
  expect(statSync(file).mode & 0o077).toBe(0);
});

test.each([
  ["a blank before it", " SELECT 'secret';"],
  ["a line's end in a string", "SELECT 'a\nb';"],
  ["nothing to say", "-- only\n"],
])("does not keep an entry with %s", (_, entry) => {
  const file = historyFile();
  const history = new History(file);
  expect(history.add(entry)).toBeUndefined();
  expect(history.read()).toEqual([]);
});

test("cuts a file that has grown long", () => {
  const file = join(temporaryFolder(), "sql_history");
  writeFileSync(file, Array.from({ length: 5000 }, (_, i) => `SELECT ${i};\n`).join(""));
  expect(new History(file).read()).toHaveLength(1000);
  expect(readFileSync(file, "utf8").split("\n")[0]).toBe("SELECT 4000;");
});

test("where the file cannot be written, entries are stored for the session alone", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "sql_history"));
  const history = new History(join(folder, "sql_history"));
  expect(history.add("SELECT 1;")).toBe("SELECT 1;");
  expect(history.read()).toEqual([]);
});
