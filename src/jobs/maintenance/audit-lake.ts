import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError, hintOf, messageOf } from "../../core/errors.js";
import { countRows } from "../../db/session/count-rows.js";
import { interruptOn, type Session, TempTable } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Severity } from "../../lake/maintenance/check/finding.js";
import { openReader } from "../../lake/open-reader.js";

/** The audits that come with barlake, one per file. */
const AUDITS = fileURLToPath(new URL("../../../sql/audits", import.meta.url));
const EXAMPLES = 3;

/** A query over a lake's views that returns wrong rows. It should return none. */
export interface Audit {
  readonly name: string;
  readonly severity: Severity;
  /** What a row of the audit means, and what to do about it. */
  readonly explanation: string;
  readonly sql: string;
}

export interface AuditFinding extends Omit<Audit, "sql"> {
  readonly rows: number;
  readonly columns: readonly string[];
  /** The first few rows, as JSON values by column. */
  readonly examples: readonly (readonly unknown[])[];
}

/** How many audits ran, what they found, and which failed. */
export interface AuditReport {
  readonly audits: number;
  /** Audits that returned rows, by severity, then name. */
  readonly findings: readonly AuditFinding[];
  /** One error for each reason why audits failed; the error names the audits. */
  readonly errors: readonly BarlakeError[];
}

const HEADER = /^-- Audit: (\w+)\n-- Severity: (error|warning|info)\n((?:-- .*\n)+)/;
const BY_SEVERITY: readonly Severity[] = ["error", "warning", "info"];

/** The audits of a folder, by name. @throws {BarlakeError} where a file lacks its header. */
export function readAudits(folder: string = AUDITS): Audit[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => readAudit(join(folder, file)));
}

function readAudit(path: string): Audit {
  const sql = readFileSync(path, "utf8");
  const [, name, severity, lines] = HEADER.exec(sql) ?? [];
  if (name === undefined || lines === undefined)
    throw new BarlakeError(
      `audit file ${path}: its header is not "-- Audit: ", "-- Severity: ", explanation`,
    );
  const explanation = lines.replaceAll(/^-- /gm, "").trim().replaceAll("\n", " ");
  return { name, severity: severity as Severity, explanation, sql };
}

/**
 * Runs audits over a lake's views, one after another. An audit that fails does not affect the others. Audits that had
 * not begun when the signal aborted are left out.
 */
export async function auditLake(
  lake: Lake,
  options: { readonly audits?: readonly Audit[]; readonly signal?: AbortSignal } = {},
): Promise<AuditReport> {
  const { audits = readAudits(), signal } = options;
  let { session } = await openReader(lake);
  let interrupts = interruptOn(session, signal);
  const findings: AuditFinding[] = [];
  const failed = new Map<string, { readonly names: string[]; readonly cause: unknown }>();
  let run = 0;
  try {
    for (const audit of audits) {
      if (signal?.aborted) break;
      try {
        const finding = await runAudit(session, audit);
        if (finding !== undefined) findings.push(finding);
        run += 1;
      } catch (cause) {
        if (signal?.aborted) break;
        const same = failed.get(messageOf(cause)) ?? { names: [], cause };
        failed.set(messageOf(cause), same);
        same.names.push(audit.name);
        // Damaged bytes may have left the database in any state.
        interrupts[Symbol.dispose]();
        session.close();
        ({ session } = await openReader(lake));
        interrupts = interruptOn(session, signal);
      }
    }
  } finally {
    interrupts[Symbol.dispose]();
    session.close();
  }
  const errors = [...failed].map(
    ([message, { names, cause }]) =>
      new BarlakeError(`audits ${names.join(", ")}: ${message}`, { hint: hintOf(cause), cause }),
  );
  const rank = ({ severity }: AuditFinding): number => BY_SEVERITY.indexOf(severity);
  return { audits: run, findings: findings.sort((a, b) => rank(a) - rank(b)), errors };
}

async function runAudit(session: Session, { sql, ...audit }: Audit): Promise<AuditFinding | undefined> {
  await using found = new TempTable(session, "audit_findings");
  await found.fill(sql);
  const rows = await countRows(session, found.name);
  if (rows === 0) return undefined;
  const { names, rows: examples } = await session.preview(`FROM ${found.name}`, EXAMPLES);
  return { ...audit, rows, columns: names, examples };
}
