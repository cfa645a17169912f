import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { cases } from "../sweep.js";
import { runCli, runProcess } from "./run-cli.js";

const HEAD = "symbol,timestamp,open,high,low,close,volume,amount\n";
const DAYS = ["2026-03-02", "2026-03-03", "2026-03-04"];
const row = (symbol: string, day: string, close: number): string =>
  `${symbol},${day}T07:00:00Z,10,11,9,${close},100,1000\n`;

describe.skipIf(!HAS_STORE)("a lake on a store", () => {
  const stores = storeLakes();

  test.each(["before", "after"].slice(0, cases({ few: 1, more: 2, all: 2 })))(
    "a process that is killed %s its commit loses nothing",
    async (when) => {
      const place = temporaryFolder();
      const file = join(place, "bars.csv");
      writeFileSync(file, HEAD + DAYS.map((day) => row("600519.SH", day, 10)).join(""));
      const lake = stores.newLocation();
      const parameters = ["import", "bars_1d", file, "--lake", lake];
      let kill = (): void => {};
      const { faultOf } = stores.store;
      stores.store.faultOf = ({ method, key }) => {
        if (method !== "PUT" || !key.includes("bars_1d/_delta_log/")) return undefined;
        kill();
        return when === "before" ? { kind: "refused", status: 503, code: "SlowDown" } : { kind: "lost" };
      };
      const killed = await runProcess(parameters, {
        env: stores.env,
        onStart: (child) => {
          kill = () => child.kill("SIGKILL");
        },
      });
      stores.store.faultOf = faultOf;
      expect(killed.code).toBeNull();
      const snapshot = await stores.open(lake).storage.walk("bars_1d");
      expect(snapshot.filter(({ path }) => path.endsWith(".parquet"))).toHaveLength(1);
      expect((await runCli(parameters, { env: stores.env })).code).toBe(0);
      const sql = ["sql", "SELECT count(*) AS bars FROM bars_1d", "--format", "csv", "--lake", lake];
      expect((await runCli(sql, { env: stores.env })).stdout).toBe("bars\n3\n");
      const check = await runCli(["check", "--deep", "--json", "--lake", lake], { env: stores.env });
      expect(check.code).toBe(0);
      const { findings } = JSON.parse(check.stdout) as { findings: { rule: string }[] };
      // What was not committed stays until a vacuum.
      expect(findings.map(({ rule }) => rule)).toEqual(when === "before" ? ["file_unknown"] : []);
    },
  );
});
