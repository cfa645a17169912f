import type { FilesReport } from "../../jobs/files/files-report.js";
import type { FilesPlan } from "../../jobs/files/plan-files.js";
import type { RunReport } from "../../jobs/run/run-pipeline.js";
import { inOptionWords } from "../errors/option-words.js";
import { count, duration, paint, plural, size, table } from "../text/text.js";

/** Most files that are named of each kind; refused ones are all named. */
const SHOWN = 10;

/** The first line about a run of files. */
export function filesHead({ pipeline, status, durationMs, requests, rows, bytes }: RunReport): string {
  const colour = status === "complete" ? "green" : "red";
  return (
    `${paint("bold", pipeline)} ${paint(colour, status)} in ${duration(durationMs)}: ` +
    `${plural(requests.sent, "file")} read (${count(requests.answered)} landed, ${count(requests.refused)} refused), ` +
    `${plural(rows, "row")}, ${size(bytes)}`
  );
}

/** What else a run of files says about them. */
export function filesLines(files: FilesReport): string[] {
  const { listed, unchanged, copies, refused, leftToNextRun, remarks } = files;
  const lines = [`${plural(listed, "file")} in ${files.from}, ${count(unchanged)} unchanged`];
  if (copies.length > 0) {
    const [first] = copies;
    lines.push(
      `${plural(copies.length, "file")} with the content of another one that has landed: ${first?.file} is a copy of ${first?.of}${copies.length > 1 ? ", ..." : ""}`,
    );
  }
  if (leftToNextRun.length > 0)
    lines.push(
      `${paint("yellow", `changed while ${leftToNextRun.length === 1 ? "it was" : "they were"} read, and left to the next run:`)} ${namesText(leftToNextRun)}`,
    );
  for (const { remark, files: n, example } of remarks.slice(0, SHOWN))
    lines.push(`${example}${n > 1 ? ` and ${plural(n - 1, "more file")}` : ""}: ${remark}`);
  if (refused.length > 0)
    lines.push(
      "",
      `${paint("red", `${plural(refused.length, "file")} refused`)}: nothing of ${refused.length === 1 ? "it" : "them"} has landed; each run reads and names ${refused.length === 1 ? "it" : "them"} until it is changed or gone`,
      table(
        ["file", "why"],
        refused.map(({ file, reason }) => [file, inOptionWords(reason)]),
      ),
    );
  return lines;
}

/** What the next run of a pipeline of files would read. */
export function filesPlanText(name: string, { files, unchanged }: FilesPlan): string {
  const lines = [
    `${paint("bold", name)}: ${plural(files.length, "file")} to read, ${count(unchanged)} unchanged; nothing was read into the lake`,
  ];
  if (files.length === 0) lines.push("the lake has them all");
  else
    lines.push(
      table(
        ["file", "size", "is", "why it was refused"],
        files.map((one) => [
          one.file,
          size(one.size),
          one.state === "refused" ? "refused before" : one.state,
          one.reason === undefined ? undefined : inOptionWords(one.reason),
        ]),
      ),
    );
  return lines.join("\n");
}

function namesText(names: readonly string[]): string {
  return `${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? ` and ${count(names.length - SHOWN)} more` : ""}`;
}
