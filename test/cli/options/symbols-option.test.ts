import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli } from "../run-cli.js";

/** The output of `barlake plan` for some days, in a folder with lists of symbols. */
async function plan(...options: readonly string[]) {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "folder"));
  writeFileSync(join(cwd, "list.txt"), "\uFEFF600519.SH\r\n\n000001.SZ \n600519.SH");
  writeFileSync(join(cwd, "none.txt"), "\n");
  const days = ["--from", "2024-01-02", "--to", "2024-01-09"];
  return runCli(["plan", "daily", ...days, "--json", ...options], { cwd });
}

test.each([
  [["--symbols", "600519.SH,000001.SZ"]],
  [["--symbols", "600519.SH, 000001.SZ,"]],
  [["--symbols", "600519.SH 000001.SZ"]],
  [["--symbols", "600519.SH", "--symbols", "000001.SZ"]],
  [["--symbols", "@list.txt"]],
  [["--symbols", "000001.SZ,@list.txt"]],
])("%j are two symbols", async (options) => {
  const { code, stdout } = await plan(...options);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    requests: 2,
    factorRequests: 1,
    regions: [{ region: "CN", symbols: 2, bars: 10 }],
  });
});

test.each([
  [
    ["--symbols", "600519.SH", "000001.SZ"],
    "000001.SZ is not expected here",
    "--symbols 600519.SH,000001.SZ",
  ],
  [
    ["--symbols", "600519.SH,", "000001.SZ"],
    "000001.SZ is not expected here",
    "--symbols 600519.SH,000001.SZ",
  ],
  [["600519.SH"], "600519.SH is not expected here", "--symbols 600519.SH"],
  [["minute"], "minute is not expected here", "barlake plan --help"],
  [["--symbols", "600519.sh"], 'symbol "600519.sh" is not of the form', "600519.SH"],
  [["--symbols", ""], "the list of symbols is empty", "leave it out"],
  [["--symbols", "@none.txt"], "the list of symbols is empty", "leave it out"],
  [
    ["--symbols", "@nowhere.txt"],
    "--symbols @nowhere.txt: nowhere.txt: it does not exist",
    "one symbol a line",
  ],
  [["--symbols", "@folder"], "--symbols @folder: ", "one symbol a line"],
  [
    ["--symbols", "600519.SH", "--universe", "X"],
    "symbols and universes are both given",
    "name one of the two",
  ],
  [
    ["--symbols", "600519.SH", "--region", "CN"],
    "symbols and regions are both given",
    "leave the regions out",
  ],
  [["--repair", "--symbols", "600519.SH"], "repair and ", "leave one of the two out"],
  [["--universe", ""], "the list of universes is empty", "leave it out"],
  [["--region", ","], "the list of regions is empty", "leave it out"],
])("%j: exit code 2, and what to do", async (options, message, hint) => {
  const { code, stderr } = await plan(...options);
  const [error, advice] = stderr.split("\nhint:");
  expect(error).toContain(message);
  expect(advice).toContain(hint);
  expect(code).toBe(2);
});
