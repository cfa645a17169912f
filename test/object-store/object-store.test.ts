import { createHash, createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { TransportError } from "../../src/core/errors.js";
import { ObjectStoreError } from "../../src/object-store/http/store-error.js";
import { type ObjectStore, openObjectStore } from "../../src/object-store/object-store.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { closedAddress } from "../faults/service/closed-address.js";
import { type Script, type Seen, startScripted } from "../faults/service/scripted-service.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { countRequests } from "./count-requests.js";

const SECRET = "very/secret+key";
const TOKEN = "session-token-of-a-role";
const NOW = "2026-11-21T00:00:00Z";

async function openAt(url: string, options: { retries?: number; timeoutMs?: number } = {}) {
  const clock = virtualClock(NOW);
  const counts = countRequests();
  const store = await openObjectStore({
    bucket: "lakes",
    env: {
      HOME: "/none",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_SESSION_TOKEN: TOKEN,
      AWS_REGION: "eu-west-3",
      AWS_ENDPOINT_URL_S3: url,
    },
    clock,
    onRequest: counts.observe,
    retries: 3,
    ...options,
  });
  onTestFinished(() => store.close());
  return { store, clock, counts };
}

/** Opens a store whose responses are scripted. */
async function setUp(script: Script, options?: Parameters<typeof openAt>[1]) {
  const service = await startScripted(script);
  return { service, ...(await openAt(service.url, options)) };
}

/** Responds as each of the scripts in turn; the last one goes on. */
const inTurn =
  (...scripts: Script[]): Script =>
  (seen, response, index) =>
    (scripts[index] ?? scripts.at(-1))?.(seen, response, index);

const refuse =
  (status: number, code: string, headers: Record<string, string> = {}, rest = ""): Script =>
  (seen, response) => {
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>words of the store</Message>${rest}</Error>`;
    response.writeHead(status, headers).end(seen.method === "HEAD" ? "" : body);
  };
const respond =
  (status: number, body = "", headers: Record<string, string> = {}): Script =>
  (_, response) =>
    void response
      .writeHead(status, { "content-length": String(Buffer.byteLength(body)), ...headers })
      .end(body);
const cut =
  (body: string, bytes: number, headers: Record<string, string> = {}, status = 200): Script =>
  (_, response) => {
    response.writeHead(status, { "content-length": String(body.length), ...headers });
    response.write(body.slice(0, bytes), () => setImmediate(() => response.destroy()));
  };
const breakOff: Script = (_, response) => void response.destroy();

/** Lists all objects. */
async function listed(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { objects } of store.list({ prefix: "" })) keys.push(...objects.map(({ key }) => key));
  return keys;
}

/** The signature of a request, computed as the documentation of AWS says. */
function signatureOf({ method, path, query, headers, body }: Seen): string {
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac("sha256", key).update(text).digest();
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const [, scope = "", names = ""] =
    /Credential=AKIDEXAMPLE\/([^,]+), SignedHeaders=([^,]+),/.exec(headers.authorization ?? "") ?? [];
  const canonical = [
    method,
    path
      .split("/")
      .map((part) => encode(decodeURIComponent(part)))
      .join("/"),
    [...query]
      .map((pair) => pair.map(encode).join("="))
      .sort()
      .join("&"),
    ...names.split(";").map((name) => `${name}:${String(headers[name]).trim()}`),
    "",
    names,
    sha256(body),
  ];
  const date = String(headers["x-amz-date"]);
  const key = scope.split("/").reduce<string | Buffer>((above, part) => hmac(above, part), `AWS4${SECRET}`);
  return hmac(key, ["AWS4-HMAC-SHA256", date, scope, sha256(canonical.join("\n"))].join("\n")).toString(
    "hex",
  );
}

test("each request is signed with its content, date, region and token, for any key", async () => {
  const list = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
  const { store, service } = await setUp((seen, response, index) =>
    respond(200, seen.method === "GET" ? list : "", { "last-modified": NOW })(seen, response, index),
  );
  for (const key of ["a/b=c/d e+f%20g.parquet", "ä/京 (1)!*'~", "x&y?z#"]) {
    await store.put(key, Buffer.from("the content"));
    await store.head(key);
  }
  for await (const page of store.list({ prefix: "a b/é+", delimiter: "/", startAfter: "a b/é+1" }))
    expect(page.objects).toEqual([]);
  expect(service.seen).toHaveLength(7);
  for (const seen of service.seen) {
    const { authorization, ...headers } = seen.headers;
    expect(authorization).toContain("/20261121/eu-west-3/s3/aws4_request");
    expect(authorization).toContain(`Signature=${signatureOf(seen)}`);
    expect(headers).toMatchObject({ "x-amz-security-token": TOKEN, "x-amz-date": "20261121T000000Z" });
    expect(headers["x-amz-content-sha256"]).toBe(createHash("sha256").update(seen.body).digest("hex"));
  }
  expect(decodeURIComponent(service.seen[0]?.path ?? "")).toBe("/lakes/a/b=c/d e+f%20g.parquet");
});

test.each(["", "a//b", "../a", "a/./b", "a/.."])(
  "a key that a proxy would change is refused: %j",
  async (key) => {
    const { store } = await openAt("http://127.0.0.1:9");
    await expect(store.get(key)).rejects.toThrow("has an empty segment");
  },
);

test.each([
  ["an overload", refuse(503, "SlowDown"), [500, 1000]],
  ["an overload that says how long", refuse(503, "SlowDown", { "retry-after": "7" }), [7000, 7000]],
  ["an error of the store", refuse(500, "InternalError"), [100, 200]],
  ["a proxy that is not well", respond(502, "<html>"), [100, 200]],
  ["a conflict", refuse(409, "ConditionalRequestConflict"), [100, 200]],
  ["a content that was damaged on its way", refuse(400, "XAmzContentSHA256Mismatch"), [100, 200]],
  ["a request that came too slowly", refuse(400, "RequestTimeout"), [100, 200]],
  ["a connection that breaks", breakOff, [100, 200]],
] as const)("a request is sent again after a pause: %s", async (_, fault, [least, most]) => {
  const { store, counts, clock } = await setUp(inTurn(fault, respond(200)));
  expect(await store.putIfAbsent("a", Buffer.from("1"))).toBe(true);
  expect(counts.take()).toEqual({ put: 2 });
  expect(clock.slept).toHaveLength(1);
  expect(clock.slept[0]).toBeGreaterThanOrEqual(least);
  expect(clock.slept[0]).toBeLessThanOrEqual(most);
});

test("a lasting fault ends the request after the retries, with longer and longer pauses", async () => {
  const { store, counts, clock } = await setUp(refuse(500, "InternalError"));
  await expect(store.get("a")).rejects.toMatchObject({ code: "InternalError", attempts: 4 });
  expect(counts.take()).toEqual({ get: 4 });
  expect(clock.slept.map((ms, n) => ms >= 100 * 2 ** n && ms <= 200 * 2 ** n)).toEqual([true, true, true]);
});

test.each<[string, Script, Partial<ObjectStoreError>, string]>([
  ["no permission", refuse(403, "AccessDenied"), { status: 403 }, "s3:PutObject"],
  ["an unknown key", refuse(403, "InvalidAccessKeyId"), { code: "InvalidAccessKeyId" }, "AWS_ACCESS_KEY_ID"],
  ["a wrong secret", refuse(403, "SignatureDoesNotMatch"), {}, "AWS_SECRET_ACCESS_KEY"],
  ["no bucket", refuse(404, "NoSuchBucket"), { code: "NoSuchBucket" }, "make the bucket lakes first"],
  [
    "another region",
    refuse(301, "PermanentRedirect", {
      "x-amz-bucket-region": "us-east-2",
      location: "http://elsewhere.example/",
    }),
    { status: 301 },
    "AWS_REGION=us-east-2",
  ],
  [
    "another region in the signature",
    refuse(400, "AuthorizationHeaderMalformed", {}, "<Region>us-west-1</Region>"),
    {},
    "AWS_REGION=us-west-1",
  ],
  [
    "another address",
    refuse(307, "TemporaryRedirect"),
    { status: 307 },
    "at another address than http://127.0.0.1",
  ],
  [
    "a clock that is wrong",
    refuse(403, "RequestTimeTooSkewed", { date: "Sat, 21 Nov 2026 00:20:00 GMT" }),
    {},
    "1200 s behind the store's",
  ],
  ["a missing feature", refuse(501, "NotImplemented"), { status: 501 }, "lacks a feature"],
  ["a refusal without words", respond(403, ""), { code: "HTTP_403" }, "these credentials may not"],
])("a refusal is an error that says what to do, at once: %s", async (_, script, facts, hint) => {
  const { store, counts } = await setUp(script);
  const error = (await store
    .put("a/b", Buffer.from("1"))
    .catch((thrown: unknown) => thrown)) as ObjectStoreError;
  expect(error).toBeInstanceOf(ObjectStoreError);
  expect(error).toMatchObject({ ...facts, message: expect.stringMatching(/^PUT s3:\/\/lakes\/a\/b: /) });
  expect(error.hint).toContain(hint);
  expect(counts.take()).toEqual({ put: 1 });
});

test("an address without a store, or an unknown one, fails after a few attempts", async () => {
  for (const url of [`http://${await closedAddress()}`, "http://no-such-host.invalid"]) {
    const { store, clock } = await openAt(url);
    const error = (await store.get("a").catch((thrown: unknown) => thrown)) as TransportError;
    expect(error).toBeInstanceOf(TransportError);
    expect(error.message).toContain(url);
    expect(error.hint).toContain("AWS_ENDPOINT_URL_S3");
    expect(clock.slept).toHaveLength(2);
  }
});

test("a write whose response was lost is one's own, and one that another was faster with is not", async () => {
  let ids: unknown[] = [];
  const stored =
    (isOwn: boolean, isLost: boolean): Script =>
    (seen, response, index) => {
      if (seen.method === "HEAD") {
        const id = isOwn ? String(ids[0]) : "of another process";
        return respond(200, "", { "last-modified": NOW, "x-amz-meta-barlake-write": id })(
          seen,
          response,
          index,
        );
      }
      ids.push(seen.headers["x-amz-meta-barlake-write"]);
      return ids.length === 1 && isLost
        ? breakOff(seen, response, index)
        : refuse(412, "PreconditionFailed")(seen, response, index);
    };
  // Where nothing was lost, a proxy may have sent the write twice.
  for (const isLost of [true, false])
    for (const isOwn of [true, false]) {
      ids = [];
      const { store, counts } = await setUp(stored(isOwn, isLost));
      expect(await store.putIfAbsent("a", Buffer.from("1"))).toBe(isOwn);
      expect(counts.take()).toEqual({ put: isLost ? 2 : 1, head: 1 });
      expect(new Set(ids).size).toBe(1);
    }
});

test("a status 404 without a code is of no store: it is asked again, and never says that an object is missing", async () => {
  const page = respond(404, "<html>no page</html>");
  const facts = { "last-modified": NOW, etag: '"1"', "x-amz-meta-barlake-write": "w" };
  const range = respond(206, "1", { ...facts, "content-range": "bytes 0-0/123" });
  const late = await setUp(inTurn(respond(200), page, page, page, respond(200, "it")));
  await late.store.put("a", Buffer.from("1"));
  expect((await late.store.get("a"))?.toString()).toBe("it");

  const wrong = await setUp(page);
  const calls = [
    () => wrong.store.get("a"),
    () => wrong.store.getStream("a"),
    () => wrong.store.head("a"),
    () => wrong.store.putIfAbsent("a", Buffer.from("1")),
    () => wrong.store.delete("a"),
  ];
  for (const call of calls)
    await expect(call()).rejects.toMatchObject({
      code: "HTTP_404",
      attempts: 3,
      hint: expect.stringContaining("is no S3 interface"),
    });
  expect(wrong.counts.take()).toEqual({ get: 9, head: 1, put: 3, delete: 3 });

  const found = await setUp((seen, response, index) =>
    (seen.method === "HEAD" ? page : range)(seen, response, index),
  );
  expect(await found.store.head("a")).toMatchObject({ size: 123, etag: '"1"', writeId: "w" });
  const missing = await setUp(refuse(404, "NoSuchKey"));
  expect(await missing.store.head("a")).toBeUndefined();
  expect(missing.counts.take()).toEqual({ head: 1, get: 1 });
  const empty = await setUp(inTurn(page, refuse(416, "InvalidRange"), respond(200, "", facts)));
  expect(await empty.store.head("a")).toMatchObject({ size: 0 });
});

test.each([
  ["own", true, true],
  ["its", true, false],
  // Another process may have written the same.
  ["own", false, false],
])(
  "on a store that keeps no metadata the content shows whose write it is: %s, lost: %s",
  async (content, isLost, isOwn) => {
    const facts = { "last-modified": NOW, "content-length": "3" };
    const { store } = await setUp((seen, response, index) => {
      if (seen.method === "HEAD") return void response.writeHead(200, facts).end();
      if (seen.method === "GET") return respond(200, content)(seen, response, index);
      return index === 0 && isLost
        ? breakOff(seen, response, index)
        : refuse(412, "PreconditionFailed")(seen, response, index);
    });
    expect(await store.putIfAbsent("a", Buffer.from("own"))).toBe(isOwn);
  },
);

test("a body that is cut short is read again, and a stream goes on where it broke", async () => {
  const text = "0123456789".repeat(1000);
  const whole = await setUp(inTurn(cut(text, 10), cut(text, 9999), respond(200, text)));
  expect((await whole.store.get("a"))?.toString()).toBe(text);
  expect(whole.counts.take()).toEqual({ get: 3 });

  const tag = { etag: '"1"' };
  const stream = await setUp(
    inTurn(
      cut(text, 4000, tag),
      (seen, response, index) => {
        expect(seen.headers.range).toBe("bytes=4000-");
        cut(text.slice(4000), 1000, tag, 206)(seen, response, index);
      },
      breakOff,
      respond(206, text.slice(5000), tag),
    ),
  );
  const pieces: Buffer[] = [];
  for await (const piece of (await stream.store.getStream("a")) ?? []) pieces.push(Buffer.from(piece));
  expect(Buffer.concat(pieces).toString()).toBe(text);

  const replaced = await setUp(inTurn(cut(text, 4000, tag), respond(206, text.slice(4000), { etag: '"2"' })));
  const read = async (): Promise<void> => {
    for await (const _ of (await replaced.store.getStream("a")) ?? []);
  };
  await expect(read()).rejects.toThrow("beyond byte 4000: the object was replaced");
});

test("a list that is cut short is requested again; a page that cannot be read is an error", async () => {
  const page = (keys: string, next: string): string =>
    `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>${keys}</ListBucketResult>`;
  const one =
    "<Contents><Key>a</Key><Size>1</Size><LastModified>2026-11-21T00:00:00Z</LastModified></Contents>";
  const { store, service } = await setUp(
    inTurn(
      respond(200, page(one, "x/y=")),
      respond(200, page(one, "").slice(0, 60)),
      respond(200, page(one, "")),
    ),
  );
  expect(await listed(store)).toEqual(["a", "a"]);
  expect(service.seen.map(({ query }) => query.get("continuation-token"))).toEqual([null, "x/y=", "x/y="]);

  const html = await setUp(respond(200, "<html><body>welcome</body></html>"));
  await expect(listed(html.store)).rejects.toThrow("its element is html");
});

test("a store that stops responding, before or within a body, does not stop the program", async () => {
  const text = "x".repeat(1000);
  const stall: Script = (_, response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("x");
  };
  const { store, counts } = await setUp(
    inTurn(() => {}, stall, respond(200, text)),
    { timeoutMs: 50 },
  );
  expect((await store.get("a"))?.toString()).toBe(text);
  expect(counts.take()).toEqual({ get: 3 });
});

test("a store that goes on like this is an error after three attempts, however often others are repeated", async () => {
  const { store, counts } = await setUp(() => {}, { timeoutMs: 50, retries: 8 });
  await expect(store.get("a")).rejects.toMatchObject({
    message: expect.stringMatching(
      /^GET s3:\/\/lakes\/a: http:\/\/127\.0\.0\.1:\d+: no response within 0\.05 s$/,
    ),
    hint: expect.stringContaining("hangs"),
  });
  expect(counts.take()).toEqual({ get: 3 });
});

test.each([
  [206, "34", "34"],
  [200, "0123456789", "34"],
])("a range is a range, also of a store that sends everything: status %i", async (status, body, expected) => {
  const { store } = await setUp(respond(status, body));
  expect((await store.getRange("a", { start: 3, end: 5 }))?.toString()).toBe(expected);
});

/** What a store says of an upload in parts that has begun, and of one that is complete. */
const BEGUN = "<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>";
const DONE = "<CompleteMultipartUploadResult/>";

test("a large file goes in parts, each sent again where it fails; an upload that fails is given up at the store", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "0123456789abcdefghij-end");
  const parts = { minBytes: 10, partBytes: 10 };
  const failed = "<Error><Code>InternalError</Code></Error>";
  let completions = 0;
  const ids: string[] = [];
  /** @param owner of the object that is there, of the ids of the uploads so far. */
  const upload =
    (complete: (n: number) => Script, owner?: () => string | undefined): Script =>
    (seen, response, index) => {
      const number = seen.query.get("partNumber");
      if (seen.method === "HEAD") {
        const id = owner?.() ?? "of another process";
        return respond(200, "", { "last-modified": NOW, "x-amz-meta-barlake-write": id })(
          seen,
          response,
          index,
        );
      }
      if (seen.query.has("uploads")) ids.push(String(seen.headers["x-amz-meta-barlake-write"]));
      if (seen.query.has("uploads")) return respond(200, BEGUN)(seen, response, index);
      expect(seen.query.get("uploadId")).toBe("u&1");
      if (seen.method === "DELETE") return respond(204)(seen, response, index);
      if (number === null) return complete(completions++)(seen, response, index);
      return index === 2
        ? breakOff(seen, response, index)
        : respond(200, "", { etag: `"${number}"` })(seen, response, index);
    };
  // The first status is a success, but not what it says.
  const good = await setUp(upload((n) => respond(200, n === 0 ? failed : `   ${DONE}`)));
  expect(await good.store.putFileIfAbsent("a", file, parts)).toBe(true);
  expect(good.counts.take()).toEqual({ beginUpload: 1, uploadPart: 4, completeUpload: 2 });
  const last = good.service.seen.at(-1);
  expect(last?.headers["if-none-match"]).toBe("*");
  expect(last?.body.match(/<PartNumber>\d<\/PartNumber><ETag>&#34;\d&#34;<\/ETag>/g)).toHaveLength(3);
  const sent = good.service.seen.filter(({ query }) => query.has("partNumber")).map(({ body }) => body);
  expect(new Set(sent)).toEqual(new Set(["0123456789", "abcdefghij", "-end"]));

  const taken = await setUp(upload(() => refuse(412, "PreconditionFailed")));
  expect(await taken.store.putFileIfAbsent("a", file, parts)).toBe(false);
  expect(taken.counts.take()).toMatchObject({ completeUpload: 1, abortUpload: 1 });

  completions = 0;
  const conflict = await setUp(
    upload((n) => (n === 0 ? refuse(409, "ConditionalRequestConflict") : respond(200, DONE))),
  );
  expect(await conflict.store.putFileIfAbsent("a", file, parts)).toBe(true);
  expect(conflict.counts.take()).toMatchObject({ beginUpload: 2, abortUpload: 1, completeUpload: 2 });

  // The first upload seemed to conflict, and created the object afterwards.
  completions = 0;
  ids.length = 0;
  const late = await setUp(
    upload(
      (n) => (n === 0 ? refuse(409, "ConditionalRequestConflict") : refuse(412, "PreconditionFailed")),
      () => (completions > 1 ? ids[0] : undefined),
    ),
  );
  expect(await late.store.putFileIfAbsent("a", file, parts)).toBe(true);
  expect(late.counts.take()).toMatchObject({ beginUpload: 2, abortUpload: 2, head: 2 });

  const denied = await setUp(upload(() => refuse(403, "AccessDenied")));
  await expect(denied.store.putFileIfAbsent("a", file, parts)).rejects.toMatchObject({
    code: "AccessDenied",
  });
  expect(denied.counts.take()).toMatchObject({ abortUpload: 1 });
});

test("a file whose hash is known is read once, and signed with it", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "x".repeat(300_000));
  const known = "ab".repeat(32);
  const { store, service } = await setUp(respond(200));
  expect(await store.putFileIfAbsent("a", file, { sha256: known })).toBe(true);
  const [sent] = service.seen;
  expect([sent?.headers["x-amz-content-sha256"], sent?.body.length]).toEqual([known, 300_000]);
});

test("the parts of a file whose hash is known are signed with hashes of their own", async () => {
  const file = join(temporaryFolder(), "file");
  const parts = ["x", "y", "z"].map((letter) => letter.repeat(100_000));
  writeFileSync(file, parts.join(""));
  const { store, service } = await setUp((seen, response, index) => {
    const number = seen.query.get("partNumber");
    if (number !== null) return respond(200, "", { etag: `"${number}"` })(seen, response, index);
    return respond(200, seen.query.has("uploads") ? BEGUN : DONE)(seen, response, index);
  });
  const options = { sha256: "ab".repeat(32), minBytes: 0, partBytes: 100_000 };
  expect(await store.putFileIfAbsent("a", file, options)).toBe(true);
  const sent = service.seen
    .filter(({ query }) => query.has("partNumber"))
    .sort((a, b) => Number(a.query.get("partNumber")) - Number(b.query.get("partNumber")));
  expect(sent.map(({ body, headers }) => ({ body, sha256: headers["x-amz-content-sha256"] }))).toEqual(
    parts.map((body) => ({ body, sha256: createHash("sha256").update(body).digest("hex") })),
  );
});

test("credentials that have expired are looked for again, once", async () => {
  const { store, counts } = await setUp(inTurn(refuse(400, "ExpiredToken"), respond(200)));
  await store.put("a", Buffer.from("1"));
  expect(counts.take()).toEqual({ put: 2 });
  const expired = await setUp(refuse(400, "ExpiredToken"));
  const error = (await expired.store
    .put("a", Buffer.from("1"))
    .catch((thrown: unknown) => thrown)) as ObjectStoreError;
  expect(error.hint).toContain("the credentials have expired");
  expect(expired.counts.take()).toEqual({ put: 2 });
});

test("no key, secret or token reaches an error, its causes, or what a store prints", async () => {
  const scripts: Script[] = [
    refuse(403, "SignatureDoesNotMatch", {}, `<AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId>`),
    breakOff,
    respond(200, "no list"),
  ];
  for (const script of scripts) {
    const { store, service } = await setUp(script, { retries: 0 });
    const errors = [
      await store.put("a", Buffer.from("1")).catch((thrown: unknown) => thrown),
      await listed(store).catch((thrown: unknown) => thrown),
    ];
    const shown = inspect([errors, store, service.seen.map(({ path, query }) => [path, query])], {
      depth: 20,
      showHidden: true,
    });
    for (const hidden of [SECRET, TOKEN, "AKIDEXAMPLE", "Signature="]) expect(shown).not.toContain(hidden);
  }
});
