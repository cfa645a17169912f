import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { inOptionWords } from "../../../src/cli/error-text.js";

test("options of the library are shown as the command line has them", () => {
  const said = {
    "give another `port`": "give another --port",
    "give another `metricsPort`": "give another --metrics-port",
    'volumes in lots? (`volumeUnit: "lots"`)': "volumes in lots? (--volume-unit lots)",
    'give it with `map: { timestamp: "COLUMN" }`; its columns':
      "give it with --map timestamp=COLUMN; its columns",
    '`existing: "append"` adds days, `existing: "replace"` builds again':
      "--append adds days, --replace builds again",
    "`symbol` and `exchange` exclude each other": "--symbol and --exchange exclude each other",
  };
  for (const [text, words] of Object.entries(said)) expect(inOptionWords(text)).toBe(words);
});

test("other text in backquotes does not change", () => {
  const text = 'column `volume` of `my port`, `SELECT 1`, `existing: "refuse"`';
  expect(inOptionWords(text)).toBe(text);
});

/** A flag in a text that is not part of a whole command, such as `barlake check --deep`. */
const LONE_FLAG = /^(?!.*\bbarlake ).*["'`\s]--[a-z][a-z-]*(?![\w:-])/;
/** A flag of Node, with which a process is started. */
const NODE_FLAG = /"--(?:import|max-old-space-size=\d+)"/g;

test("no text below the command line names a flag but in a whole command", () => {
  expect("hint: `wait, or give --wait`").toMatch(LONE_FLAG);
  expect('hint: "barlake check --deep shows it"').not.toMatch(LONE_FLAG);
  const root = fileURLToPath(new URL("../../../src", import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.startsWith("cli") && !/browser/.test(file),
  );
  expect(files.length).toBeGreaterThan(300);
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .filter((line) => LONE_FLAG.test(line.replaceAll(NODE_FLAG, "")))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
