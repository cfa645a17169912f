// A program as one would write it for one statement on `lake.duckdb`: DuckDB's client, and the values of the first row.
import { createRequire } from "node:module";

const { DuckDBInstance } = createRequire(import.meta.url)("@duckdb/node-api");
const [file, sql] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file, { access_mode: "READ_ONLY" });
const connection = await instance.connect();
const reader = await connection.runAndReadAll(sql);
process.stdout.write(`${reader.columnNames().join(" ")}\n${reader.getRows()[0].join(" ")}\n`);
connection.closeSync();
instance.closeSync();
