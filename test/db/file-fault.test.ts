import { expect, test } from "vitest";
import { explained, isPassingStoreFault } from "../../src/db/file-fault.js";

const UUID = "8503a041-4f99-411e-ac64-4aabe316bbf1";

test.each([
  [`"/lake/.staging/${UUID}.parquet": Read-only file system`, "the lake", "mounted read-only"],
  [`"/home/.denied.csv.${UUID}": Permission denied`, "file /home/denied.csv", "not writable for this user"],
])("a file that cannot be opened to be written says what to do: %s", (about, subject, hint) => {
  const { message, ...rest } = explained(new Error(`IO Error: Cannot open file ${about}`));
  expect(message).toContain(`${subject} could not be written: `);
  expect(rest.hint).toContain(hint);
});

test("a file that cannot be read is not one that could not be written", () => {
  const about = '"/home/mine.csv": Permission denied';
  const message = `IO Error: Cannot open file ${about}`;
  expect(explained(new Error(message))).toEqual({ message });
});

test.each([
  [
    "IO Error: Transferred a partial file error for HTTP GET to 'http://store:9000/b/lake/bars_1d/region%3DCN/year%3D2026/p-1.parquet'",
    "table bars_1d: region=CN/year=2026/p-1.parquet could not be read from the store at store:9000: Transferred a partial file error for HTTP GET",
    "run the command again",
  ],
  [
    "IO Error: Timeout was reached error for HTTP GET to 'http://store:9000/b/lake/bars_1d/region%3DCN/p-1.parquet'",
    "table bars_1d: region=CN/p-1.parquet could not be read from the store at store:9000: it did not respond in time to HTTP GET",
    "run the command again",
  ],
  [
    "HTTP Error: HTTP GET error on 'https://store/b/lake/bars_1d/region%3DCN/p-1.parquet' (HTTP 503)",
    "table bars_1d: region=CN/p-1.parquet could not be read from the store at store: HTTP GET error (HTTP 503)",
    "run the command again",
  ],
  [
    "HTTP Error: HTTP GET error on 'https://store/b/lake/bars_1d/region%3DCN/p-1.parquet' (HTTP 403)",
    "table bars_1d: region=CN/p-1.parquet could not be read from the store at store: HTTP GET error (HTTP 403)",
    "s3:GetObject",
  ],
  [
    "HTTP Error: HTTP GET error reading 's3://b/lake/bars_1d/region=CN/p-1.parquet' in region 'us-east-1' (HTTP 403 Forbidden)",
    "table bars_1d: region=CN/p-1.parquet could not be read from the store at b: HTTP GET error (HTTP 403 Forbidden)",
    "s3:GetObject",
  ],
  [
    "HTTP Error: HTTP HEAD error on 'https://store/50%off/bars_1d/p-1.parquet' (HTTP 503)",
    "table bars_1d: p-1.parquet could not be read from the store at store: HTTP HEAD error (HTTP 503)",
    "run the command again",
  ],
])("a file that a store did not give is not one to be restored: %s", (text, message, hint) => {
  const found = explained(new Error(text));
  expect(found.message).toBe(message);
  expect(found.hint).toContain(hint);
  expect(found.hint).not.toContain("backup");
});

test.each([
  ["IO Error: Could not establish connection error for HTTP GET to 'http://store/b/p-1.parquet'", true],
  ["IO Error: Transferred a partial file error for HTTP GET to 'http://store/b/p-1.parquet'", true],
  ["HTTP Error: HTTP GET error on 'https://store/b/p-1.parquet' (HTTP 503)", true],
  ["HTTP Error: HTTP GET error on 'https://store/b/p-1.parquet' (HTTP 429)", true],
  [
    "HTTP Error: Content-Length from server mismatches requested range, server may not support range requests.",
    true,
  ],
  ["HTTP Error: HTTP GET error on 'https://store/b/p-1.parquet' (HTTP 403)", false],
  ["HTTP Error: HTTP HEAD error on 'https://store/b/p-1.parquet' (HTTP 404)", false],
  ['IO Error: Cannot open file "/lake/p-1.parquet": Permission denied', false],
  ["Invalid Input Error: a column is named HTTP GET", false],
])("a fault of a store that may pass: %s, %s", (message, isPassing) => {
  expect(isPassingStoreFault(message)).toBe(isPassing);
});

test("a range of another length than was requested is not explained by a setting of DuckDB", () => {
  const text =
    "HTTP Error: Content-Length from server mismatches requested range, server may not support range requests. You can try to resolve this by enabling `SET force_download=true`";
  expect(explained(new Error(text))).toEqual({
    message: "the store sent fewer or more bytes of a file than were requested",
    hint: expect.stringContaining("run the command again"),
  });
});
