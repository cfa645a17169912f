import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../src/core/errors.js";
import { expectNotebookName, hashOf, notebookWriter } from "../../../src/ui/notebooks/notebook-files.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

describe("a notebook", () => {
  test("is created, and replaced by who knows what it contains", async () => {
    const folder = temporaryFolder();
    const { save } = notebookWriter(folder);
    const first = await save({ name: "a 1", text: "SELECT 1;\r\n", before: null });
    expect(first).toEqual({ kind: "saved", hash: hashOf("SELECT 1;\r\n") });
    chmodSync(join(folder, "a 1.sql"), 0o600);
    await save({ name: "a 1", text: "SELECT '中';", before: hashOf("SELECT 1;\r\n") });
    expect(readFileSync(join(folder, "a 1.sql"), "utf8")).toBe("SELECT '中';");
    expect(statSync(join(folder, "a 1.sql")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a 1.sql"]);
  });

  test("that has changed since, or is gone, or has appeared, is left as it is, and shown", async () => {
    const folder = temporaryFolder();
    const { save } = notebookWriter(folder);
    writeFileSync(join(folder, "a.sql"), "theirs");
    const theirs = { text: "theirs", hash: hashOf("theirs") };
    for (const before of [null, hashOf("older")])
      expect(await save({ name: "a", text: "mine", before })).toMatchObject({ kind: "changed", theirs });
    expect(await save({ name: "b", text: "mine", before: hashOf("older") })).toEqual({
      kind: "changed",
      theirs: null,
    });
    expect([readFileSync(join(folder, "a.sql"), "utf8"), existsSync(join(folder, "b.sql"))]).toEqual([
      "theirs",
      false,
    ]);
  });

  test("that is not UTF-8 has the same bytes", async () => {
    const folder = temporaryFolder();
    const bytes = Buffer.from("SELECT 'caf\xe9';", "latin1");
    writeFileSync(join(folder, "a.sql"), bytes);
    const saving = notebookWriter(folder).save({
      name: "a",
      text: bytes.toString("utf8"),
      before: hashOf(bytes),
    });
    await expect(saving).rejects.toThrow("is not UTF-8");
    expect(readFileSync(join(folder, "a.sql"))).toEqual(bytes);
  });

  test("that two pages save at once gets one of the texts, and the other page hears of it", async () => {
    const folder = temporaryFolder();
    const { save } = notebookWriter(folder);
    const outcomes = await Promise.all(["one", "two"].map((text) => save({ name: "a", text, before: null })));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["saved", "changed"]);
    expect(readFileSync(join(folder, "a.sql"), "utf8")).toBe("one");
  });
});

test.skipIf(process.platform === "win32")(
  "a notebook for which the disk has no space is refused with the reason, and the old file is intact",
  () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.sql"), "old");
    const built = new URL("../../../dist/ui/notebooks/notebook-files.js", import.meta.url).href;
    const script = `
      const { notebookWriter } = await import(${JSON.stringify(built)});
      const notebook = { name: "a", text: "x".repeat(100_000), before: ${JSON.stringify(hashOf("old"))} };
      await notebookWriter(${JSON.stringify(folder)}).save(notebook).then(
        () => console.log("saved"),
        ({ message, hint }) => console.log(message + "\\n" + hint),
      );`;
    const limited = 'ulimit -f 8; exec "$0" --input-type=module -e "$1"';
    const said = execFileSync("bash", ["-c", limited, process.execPath, script], { encoding: "utf8" });
    expect(said).toMatch(
      /a\.sql could not be written: File too large\n.*the file is unchanged, and the page still has your text\n$/,
    );
    expect(readdirSync(folder)).toEqual(["a.sql"]);
    expect(readFileSync(join(folder, "a.sql"), "utf8")).toBe("old");
  },
);

describe("refused", () => {
  test("a link that leads outside, which remains, and what it leads to", async () => {
    const folder = temporaryFolder();
    const outside = join(temporaryFolder(), "secret.sql");
    writeFileSync(outside, "secret");
    symlinkSync(outside, join(folder, "a.sql"));
    symlinkSync(join(outside, "..", "new.sql"), join(folder, "b.sql"));
    const { save } = notebookWriter(folder);
    for (const name of ["a", "b"])
      for (const before of [null, hashOf("secret")])
        await expect(save({ name, text: "x", before })).rejects.toThrow("is a link");
    expect(readFileSync(outside, "utf8")).toBe("secret");
    expect(readdirSync(join(outside, ".."))).toEqual(["secret.sql"]);
    expect(readdirSync(folder).sort()).toEqual(["a.sql", "b.sql"]);
  });

  test("a folder under the name, and a workspace without a folder", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "a.sql"));
    const notebook = { name: "a", text: "x", before: null };
    await expect(notebookWriter(folder).save(notebook)).rejects.toThrow("is no file");
    await expect(notebookWriter(undefined).save(notebook)).rejects.toThrow("no folder for notebooks");
    await expect(notebookWriter(join(folder, "missing")).save(notebook)).rejects.toThrow(
      "there is no such folder",
    );
  });

  test.each([
    "",
    ".",
    "..",
    "../x",
    "../x.sql",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    ".hidden",
    "x.sql",
    "x.SQL",
    "-rf",
    " a",
    "a ",
    "a.",
    "x".repeat(300),
    "字".repeat(100),
    "<img src=x onerror=alert(1)>",
    'a"b',
    "a'b",
    "$HOME",
    "CON:",
    "a\u202Eb",
  ])("the name %j", (name) => {
    expect(() => expectNotebookName(name)).toThrow(UsageError);
  });

  test.each(["a", "自己的 (1)", "Crédit_2026-11-23", "a.b", "x".repeat(180)])("not the name %j", (name) => {
    expect(() => expectNotebookName(name)).not.toThrow();
  });
});
