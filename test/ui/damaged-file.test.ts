import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LakeReport } from "../../src/ui/page-data.js";
import { startWorkspace } from "../../src/ui/start-workspace.js";
import { PATIENT } from "./patient-session.js";
import { faultyRowsLake } from "./quality/faulty-rows-lake.js";
import { admitted, visit } from "./workspace-visit.js";

test("a data file that is damaged while the workspace is open is named, and everything else is still shown", async () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-damaged-"));
  try {
    await using workspace = await startWorkspace(await faultyRowsLake(folder), { limits: PATIENT });
    const cookie = await admitted(workspace.port, workspace.address());
    const get = (path: string, query: Readonly<Record<string, string>> = {}) =>
      visit(workspace.port, `/api/${path}?${String(new URLSearchParams(query))}`, { cookie });
    const { state } = JSON.parse((await get("state")).body) as LakeReport;
    const bars = { state, symbol: "600519.SH", adjust: "none" };
    expect((await get("bars", { ...bars, period: "1d" })).status).toBe(200);
    const files = readdirSync(join(folder, "bars_1d"), { recursive: true, encoding: "utf8" });
    const damaged = files.filter((name) => name.endsWith(".parquet"));
    for (const name of damaged) writeFileSync(join(folder, "bars_1d", name), "damaged");
    const refused = await get("bars", { ...bars, period: "1w" });
    expect([422, 503]).toContain(refused.status);
    expect(refused.body).toContain("bars_1d");
    expect((JSON.parse(refused.body) as { hint: string | null }).hint).toMatch(/barlake (check|repair)/);
    expect((await get("bars", { ...bars, period: "1m" })).status).toBe(200);
    expect((await get("quality/count", { state, rule: "ohlc" })).status).toBe(refused.status);
    expect((await get("quality/count", { state, rule: "minute_labels" })).status).toBe(200);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
