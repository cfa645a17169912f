import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openFileSource } from "../../../src/jobs/files/file-source.js";
import { namePattern } from "../../../src/jobs/files/name-pattern.js";
import { Lake } from "../../../src/lake/lake.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { barsCsv, filesPlace } from "./files-place.js";
import { hashOf } from "./hash-of.js";

/** A store with one bucket, which lists and sends what the objects are. */
async function store(objects: Map<string, string>) {
  const seen: string[] = [];
  const tagOf = (text: string): string => `"${createHash("md5").update(text).digest("hex")}"`;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://store");
    seen.push(`${request.method} ${url.pathname}`);
    if (url.searchParams.has("list-type")) {
      const prefix = url.searchParams.get("prefix") ?? "";
      const contents = [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(
          ([key, text]) =>
            `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${Buffer.byteLength(text)}</Size><LastModified>2026-03-02T00:00:00.000Z</LastModified><ETag>${tagOf(text).replaceAll('"', "&quot;")}</ETag></Contents>`,
        );
      response.end(
        `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`,
      );
      return;
    }
    const text = objects.get(decodeURIComponent(url.pathname.replace("/drop-bucket/", "")));
    if (text === undefined) {
      response
        .writeHead(404)
        .end(request.method === "HEAD" ? undefined : "<Error><Code>NoSuchKey</Code></Error>");
      return;
    }
    const headers = {
      etag: tagOf(text),
      "last-modified": "Mon, 02 Mar 2026 00:00:00 GMT",
      "content-length": Buffer.byteLength(text),
    };
    response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : text);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const environment = {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "very-secret",
    AWS_REGION: "us-east-1",
    HOME: temporaryFolder(),
  };
  return { seen, environment };
}

test("objects under a prefix are listed with their tags, and read into the work folder", async () => {
  const objects = new Map([
    ["in/a.csv", "one"],
    ["in/sub/b.csv", "two"],
    ["in/c.txt", "three"],
    ["other/d.csv", "four"],
  ]);
  const { environment } = await store(objects);
  const lake = new Lake(temporaryFolder(), { environment, hasDatabase: false });
  await using source = await openFileSource("s3://drop-bucket/in", namePattern("**/*.csv"), lake);
  const files = await source.list();
  expect(files.map(({ name, size }) => [name, size])).toEqual([
    ["a.csv", 3],
    ["sub/b.csv", 3],
  ]);
  expect(await source.find("a.csv")).toEqual(files[0]);
  expect(await source.find("z.csv")).toBeUndefined();
  const { signal } = new AbortController();
  const content = await source.read("sub/b.csv", signal);
  expect(content?.sha256).toBe(hashOf("two"));
  expect(readFileSync(content?.path ?? "", "utf8")).toBe("two");
  await content?.release();
  expect(() => readFileSync(content?.path ?? "")).toThrow(/ENOENT/);
  expect(await source.read("z.csv", signal)).toBeUndefined();
});

test("a run lands objects, names them by their address, and reads those again whose tag has changed", async () => {
  const bad = `${barsCsv({ "2026-03-02": 11 })}600519.SH,x,1,1,1,1,100\n`;
  const objects = new Map([
    ["in/a.csv", bad],
    ["in/b.csv", "no header"],
  ]);
  const { seen, environment } = await store(objects);
  const before = { ...process.env };
  Object.assign(process.env, environment);
  onTestFinished(() => {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  });
  const place = filesPlace({ from: "s3://drop-bucket/in", options: { volumeUnit: "shares" } });
  const first = await place.run();
  expect(first.files).toMatchObject({ landed: [{ file: "a.csv" }], refused: [{ file: "b.csv" }] });
  expect(JSON.stringify(first)).not.toMatch(/very-secret|staging/);
  expect(await place.query("SELECT DISTINCT source FROM rejects ORDER BY 1")).toEqual([
    { source: "s3://drop-bucket/in/a.csv" },
    { source: "s3://drop-bucket/in/b.csv" },
  ]);
  seen.length = 0;
  objects.set("in/c.csv", barsCsv({ "2026-03-03": 12 }));
  expect((await place.run()).files).toMatchObject({ landed: [{ file: "c.csv" }], unchanged: 1 });
  expect(seen.filter((one) => one === "GET /drop-bucket/in/a.csv")).toEqual([]);
  objects.set("in/a.csv", barsCsv({ "2026-03-02": 13 }));
  expect((await place.run()).files.landed).toEqual([{ file: "a.csv", state: "changed" }]);
});
