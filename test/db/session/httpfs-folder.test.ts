import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { HTTPFS_FILE, httpfsFolder } from "../../../src/db/session/store-access.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

test("the named folder comes first, then that of this DuckDB's version in the cache, if it has the file", () => {
  const cache = temporaryFolder();
  const folder = join(cache, "barlake", `duckdb-${version().slice(1)}`);
  expect(httpfsFolder({ XDG_CACHE_HOME: cache })).toBeUndefined();
  mkdirSync(folder, { recursive: true });
  expect(httpfsFolder({ XDG_CACHE_HOME: cache })).toBeUndefined();
  writeFileSync(join(folder, HTTPFS_FILE), "");
  expect(httpfsFolder({ XDG_CACHE_HOME: cache })).toBe(folder);
  expect(httpfsFolder({ XDG_CACHE_HOME: cache, BARLAKE_DUCKDB_EXTENSIONS: "" })).toBe(folder);
  expect(httpfsFolder({ XDG_CACHE_HOME: cache, BARLAKE_DUCKDB_EXTENSIONS: "/named" })).toBe("/named");
});
