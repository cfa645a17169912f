import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { literal } from "../../../src/db/quote.js";
import { type Engine, proveEngine } from "../prove-engine.js";
import type { Demand, Reading } from "../readings.js";

const CHDB = "3.4.0";
const WRITES = "allow_delta_lake_writes = 1, allow_experimental_delta_lake_writes = 1";

/** As much of chdb as is used here. */
interface Chdb {
  query(sql: string, format: string): string;
}

const TYPES: Readonly<Record<string, string>> = {
  String: "string",
  Float64: "double",
  Int64: "int64",
  Int32: "int32",
  Bool: "boolean",
  Date32: "date",
  "DateTime64(6)": "timestamp",
  "Array(String)": "string[]",
};

const packages = mkdtempSync(join(tmpdir(), "barlake-chdb-"));
try {
  writeFileSync(join(packages, "package.json"), "{}");
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", `chdb@${CHDB}`], { cwd: packages });
  const chdb = createRequire(join(packages, "package.json"))("chdb") as Chdb;
  process.exitCode = (await proveEngine(engineOf(chdb))) ? 0 : 1;
} finally {
  rmSync(packages, { recursive: true, force: true });
}

function engineOf(chdb: Chdb): Engine {
  return {
    name: `ClickHouse ${chdb.query("SELECT version()", "TSV").trim()}, in chdb ${CHDB} of npm`,
    read(folder, wanted) {
      // ClickHouse reads local files below the working directory only.
      process.chdir(folder);
      const readings = wanted.map((one) => read(chdb, one));
      process.chdir(tmpdir());
      return readings;
    },
    write(lake) {
      process.chdir(dirname(lake));
      const table = `deltaLakeLocal(${literal(join(lake, "bars_1d"))})`;
      chdb.query(
        `INSERT INTO FUNCTION ${table} SELECT * REPLACE (addHours(timestamp, 1) AS timestamp) FROM ${table} ORDER BY symbol LIMIT 3 SETTINGS ${WRITES}`,
        "TSV",
      );
      process.chdir(tmpdir());
      return ["append"];
    },
  };
}

function read(chdb: Chdb, { path, version, symbol, since }: Demand): Reading {
  const [table, settings] = [
    `deltaLakeLocal(${literal(path)})`,
    `SETTINGS delta_lake_snapshot_version = ${version}`,
  ];
  const columns = linesOf(chdb.query(`DESCRIBE ${table} ${settings}`, "JSONCompactEachRow")).map(
    ([name, kind]) => [name, TYPES[(kind as string).replace(/^Nullable\((.*)\)$/, "$1")]] as [string, string],
  );
  const select = columns.map(([name, type]) => {
    if (type === "timestamp") return `toString(toUnixTimestamp64Micro(\`${name}\`))`;
    return type === "int64" || type === "date" ? `toString(\`${name}\`)` : `\`${name}\``;
  });
  const where = [
    ...(symbol === undefined ? [] : [`symbol = ${literal(symbol).replaceAll("\\", "\\\\")}`]),
    ...(since === undefined ? [] : [`timestamp >= parseDateTime64BestEffort(${literal(since)}, 6)`]),
  ];
  const rows = chdb.query(
    `SELECT ${select.join(", ")} FROM ${table} ${where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`} ${settings}`,
    "JSONCompactEachRow",
  );
  return { version, columns: Object.fromEntries(columns) as Reading["columns"], rows: linesOf(rows) };
}

function linesOf(text: string): unknown[][] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as unknown[]);
}
