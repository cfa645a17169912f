import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { mayChange } from "../../../src/db/reads/undo-changes.js";

test("statements that may leave something behind are distinguished from queries, also after many comments", async () => {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run("CREATE TABLE sales AS SELECT 2024 AS year, 1 AS amount");
  const queries = [
    "SELECT 1",
    "PIVOT sales ON year USING sum(amount)",
    "UNPIVOT sales ON year, amount",
    "DESCRIBE sales",
    "SUMMARIZE sales",
    "SHOW TABLES",
    `${"/* a * comment **/ ".repeat(40)}FROM sales`,
  ];
  const changes = [
    "CREATE TABLE other AS FROM sales",
    "CREATE TABLE other AS PIVOT sales ON year USING sum(amount)",
    "SHOW TABLES; DROP TABLE sales",
    `${"/* comment */ ".repeat(40)}CREATE TABLE other AS FROM sales`,
    `${"-- comment\n".repeat(40)}${"/**/".repeat(40)}CREATE TABLE other AS FROM sales`,
  ];
  for (const sql of queries) expect(await mayChange(connection, sql), sql).toBe(false);
  for (const sql of changes) expect(await mayChange(connection, sql), sql).toBe(true);
  connection.closeSync();
  instance.closeSync();
});
