import type { AuditFinding, AuditReport } from "../../jobs/maintenance/audit-lake.js";
import { count, paint, plural, table } from "../text/text.js";

const COLOUR = { error: "red", warning: "yellow", info: "dim" } as const;

/** The findings of audits, for people: each with its explanation and a few of its rows. */
export function auditText({ audits, findings }: Omit<AuditReport, "errors">): string {
  const result =
    findings.length === 0
      ? paint("green", "nothing found")
      : `${plural(findings.length, "audit")} found rows`;
  return [`${plural(audits, "audit")}: ${result}`, ...findings.map(findingText)].join("\n");
}

function findingText({ name, severity, explanation, rows, columns, examples }: AuditFinding): string {
  const more = rows > examples.length ? `\nand ${count(rows - examples.length)} more` : "";
  const shown = table(
    columns,
    examples.map((row) => row.map((cell) => (typeof cell === "string" ? cell : JSON.stringify(cell)))),
  );
  return `\n${paint(COLOUR[severity], severity)} ${name}: ${plural(rows, "row")}\n${explanation}\n${shown}${more}`;
}
