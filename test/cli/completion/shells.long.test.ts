import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { SHELLS, type Shell } from "../../../src/cli/commands/project/completion.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { MAIN } from "../run-cli.js";

/** The whole way in a real shell: its script, its words, its result. */
const ASKED: Readonly<Record<Shell, (line: string) => string>> = {
  bash: (line) => `
    eval "$(barlake completion bash)"
    COMP_WORDS=(${line}) ; COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
    compopt() { :; }
    _barlake
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  // What the completion system would show is taken from the calls of it.
  zsh: (line) => `
    compdef() { :; }
    _describe() { print -l -- \${(P)@[-1]} }
    _files() { print -- "files $*" }
    eval "$(barlake completion zsh)"
    words=(${line}) ; CURRENT=$#words
    _barlake`,
  fish: (line) => `
    barlake completion fish | source
    complete --do-complete ${line}`,
};

describe.each(SHELLS)("%s", (shell) => {
  const isThere = spawnSync(shell, ["-c", "true"]).status === 0;
  if (!isThere) console.warn(`skipped: there is no ${shell} to complete words in`);

  function ask(line: string): string[] {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "barlake"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(folder, "barlake"), 0o755);
    writeFileSync(join(folder, "one file.txt"), "");
    mkdirSync(join(folder, "one folder"));
    const env = { ...process.env, PATH: [folder, process.env.PATH].join(delimiter), HOME: folder };
    const { stdout, stderr } = spawnSync(shell, ["-c", ASKED[shell](line)], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((one) => one !== "");
  }
  const quoted = (line: string): string => (shell === "fish" ? `'${line}'` : line);

  test.runIf(isThere)("completes commands, values and files", () => {
    const first = (lines: string[]): (string | undefined)[] => lines.map((line) => line.split(/[\t:]/)[0]);
    expect(first(ask(quoted("barlake pla")))).toEqual(["plan"]);
    expect(first(ask(quoted("barlake sql --format cs")))).toEqual(["csv"]);
    const files = ask(quoted("barlake dataset build one"));
    if (shell === "fish") expect(first(files)).toEqual(["one file.txt", "one folder/"]);
    if (shell === "zsh") expect(files).toEqual(["files "]);
  });
});
