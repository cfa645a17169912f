import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { auditLake, readAudits } from "../../../src/jobs/maintenance/audit-lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { landFaultyDays } from "../../lake/faulty-days.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";

test("each audit has a header, and finds nothing in an empty lake", async () => {
  const audits = readAudits();
  expect(audits.length).toBeGreaterThan(10);
  for (const { explanation } of audits) expect(explanation).toMatch(/^[A-Za-z][\s\S]*\.$/);
  expect(await auditLake(temporaryLake())).toEqual({ audits: audits.length, findings: [], errors: [] });
});

test("a finding has its severity, explanation, count and a few rows; the gravest come first", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await landFaultyDays(session, lake);
  const { findings } = await auditLake(lake);
  expect(findings.map(({ name, severity, rows }) => [name, severity, rows])).toEqual([
    ["no_session", "warning", 1],
    ["ohlc", "warning", 1],
    ["units", "warning", 1],
  ]);
  const [weekend] = findings;
  expect(weekend?.columns).toEqual(["symbol", "trade_date", "weekday", "volume", "close"]);
  expect(weekend?.examples).toEqual([["600519.SH", "2024-01-06", "Saturday", "1000", 10.5]]);
  expect(weekend?.explanation).toContain("fills holidays");
});

test("an audit of one's own: a header that lacks something is reported", async () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "mine.sql"),
    "-- Audit: mine\n-- Severity: info\n-- There are bars.\nFROM bars_1d\n",
  );
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(
    session,
    lake,
    BARS_1D,
    Array.from({ length: 5 }, (_, i) => ({ at: Date.UTC(2024, 0, i + 1, 16) })),
  );
  const { findings } = await auditLake(lake, { audits: readAudits(folder) });
  expect(findings).toMatchObject([
    { name: "mine", severity: "info", explanation: "There are bars.", rows: 5 },
  ]);
  expect(findings[0]?.examples).toHaveLength(3);
  writeFileSync(join(folder, "mine.sql"), "SELECT 1\n");
  expect(() => readAudits(folder)).toThrow('its header is not "-- Audit: "');
});

test("an audit that fails leaves the others as they are; audits that fail alike are named in one error", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: Date.UTC(2024, 0, 1, 16) }]);
  const audit = (name: string, sql: string) => ({ name, severity: "info", explanation: "x", sql }) as const;
  const report = await auditLake(lake, {
    audits: [
      audit("first", "FROM bars_1d"),
      audit("second", "SELECT error('broken')"),
      audit("third", "FROM bars_1d"),
      audit("fourth", "SELECT error('broken')"),
      audit("fifth", "FROM no_such_table"),
    ],
  });
  expect(report.audits).toBe(2);
  expect(report.findings.map(({ name }) => name)).toEqual(["first", "third"]);
  expect(report.errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^audits second, fourth: .*broken/),
    expect.stringMatching(/^audits fifth: .*no_such_table/),
  ]);
});
