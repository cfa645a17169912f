import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  TrinoClient,
  type TrinoCredentials,
  TrinoQueryError,
  type TrinoRows,
  trinoServer,
} from "../../src/trino/trino-client.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";

const BIGINT = { name: "n", type: "bigint", typeSignature: { rawType: "bigint" } };

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** A server of scripted responses, each given to one request. */
async function scripted(
  responses: readonly ((origin: string) => {
    status?: number;
    body?: unknown;
    headers?: Record<string, string>;
  })[],
  credentials: TrinoCredentials = {},
) {
  const asked: Asked[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "", headers } = request;
    asked.push({ method, path, headers });
    const {
      status = 200,
      body = "",
      headers: sent = {},
    } = method === "DELETE" ? { status: 204 } : (responses[asked.length - 1]?.(origin) ?? { status: 500 });
    response.writeHead(status, sent).end(typeof body === "string" ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = virtualClock(0);
  const client = new TrinoClient(trinoServer(`${origin}/c/s`, {}, credentials), { clock });
  return { client, asked, clock };
}

async function allOf(pages: AsyncIterable<TrinoRows>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { rows } of pages) all.push(...rows);
  return all;
}

test("follows the pages at the address that was asked, and repeats what the server says to repeat", async () => {
  const { client, asked, clock } = await scripted(
    [
      () => ({ status: 503 }),
      () => ({ body: { id: "q", nextUri: "https://internal:8443/v1/statement/queued/q/1?slug=a" } }),
      () => ({ status: 502 }),
      () => ({ status: 504 }),
      () => ({
        body: {
          id: "q",
          columns: [BIGINT],
          data: [[1], [2]],
          nextUri: "http://internal/v1/statement/executing/q/2",
        },
      }),
      () => ({ body: { id: "q", columns: [BIGINT], data: [[3]] } }),
    ],
    { user: "ann", password: "pässword" },
  );
  expect(await allOf(client.pages("SELECT 1"))).toEqual([[1], [2], [3]]);
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /v1/statement",
    "POST /v1/statement",
    ...Array.from({ length: 3 }, () => "GET /v1/statement/queued/q/1?slug=a"),
    "GET /v1/statement/executing/q/2",
  ]);
  expect(clock.slept).toEqual([50, 50, 100]);
  const basic = `Basic ${Buffer.from("ann:pässword").toString("base64")}`;
  for (const { headers } of asked) {
    expect(headers.authorization).toBe(basic);
    expect([headers["x-trino-user"], headers["x-trino-catalog"], headers["x-trino-schema"]]).toEqual([
      "ann",
      "c",
      "s",
    ]);
  }
});

test("a server that remains busy, refuses or is gone is an error without the credentials", async () => {
  const { client, asked } = await scripted(
    Array.from({ length: 20 }, () => () => ({ status: 503 })),
    { token: "secret" },
  );
  await expect(client.rows("SELECT 1")).rejects.toThrow(/responded with status 503/);
  expect(asked).toHaveLength(10);
  const refused = await scripted([() => ({ status: 401, body: "Unauthorized" })], { token: "secret" });
  const error = await refused.client
    .rows("SELECT 1")
    .catch((one: unknown) => one as Error & { hint: string });
  expect(error).toMatchObject({
    message: expect.stringContaining("status 401: Unauthorized"),
    hint: expect.stringContaining("BARLAKE_TRINO_TOKEN"),
  });
  expect(JSON.stringify([error, String((error as Error).stack)])).not.toContain("secret");
  const cut = await scripted([() => ({ body: '{"id": "q", "data": [[1' })]);
  await expect(cut.client.rows("SELECT 1")).rejects.toThrow("its response is incomplete");
});

test("a redirect is not followed: it would take the credentials along", async () => {
  const { client, asked } = await scripted([
    (origin) => ({ status: 307, headers: { location: `${origin}/elsewhere` } }),
  ]);
  await expect(client.rows("SELECT 1")).rejects.toThrow(/Trino at http/);
  expect(asked).toHaveLength(1);
});

test("a caller that stops early cancels the query", async () => {
  const page = () => ({
    body: { id: "q", columns: [BIGINT], data: [[1]], nextUri: "http://internal/v1/next" },
  });
  const { client, asked } = await scripted([page, page]);
  for await (const { rows } of client.pages("SELECT 1")) {
    expect(rows).toEqual([[1]]);
    break;
  }
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /v1/statement",
    "DELETE /v1/next",
  ]);
  const abort = new AbortController();
  const aborted = await scripted([page, page]);
  const read = (async () => {
    for await (const _ of aborted.client.pages("SELECT 1", abort.signal)) abort.abort();
  })();
  await expect(read).rejects.toThrow("aborted");
  expect(aborted.asked.at(-1)?.method).toBe("DELETE");
});

test("an error shows its place, counted in characters", async () => {
  const failure = {
    message: "line 2:12: Column 'colse' cannot be resolved",
    errorName: "COLUMN_NOT_FOUND",
    errorType: "USER_ERROR",
    errorLocation: { lineNumber: 2, columnNumber: 12 },
  };
  const { client } = await scripted([() => ({ body: { id: "q", error: failure } })]);
  const sql = "SELECT\n'\u{1f600}价格' AS a, colse FROM t";
  const error = await client.rows(sql).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(TrinoQueryError);
  expect(error).toMatchObject({ isWrongStatement: true, sql });
  // An emoji and a Chinese character are two columns wide.
  expect((error as Error).message).toBe(
    `COLUMN_NOT_FOUND: Column 'colse' cannot be resolved\n\nLINE 2: '\u{1f600}价格' AS a, colse FROM t\n${" ".repeat(8 + 14)}^`,
  );
});

test.each([
  ["ftp://host", "must begin with http"],
  ["http://ann:secret@host", "has more than host"],
  ["http://host/a/b/c", "3 parts after the host"],
])("the address %s is refused", (address, message) => {
  expect(() => trinoServer(address, {}, {})).toThrow(message);
});

test("a password beside a token is not ignored without a word", () => {
  const both = { password: "x", token: "y" };
  expect(() => trinoServer("https://trino", {}, both)).toThrow("only one of them can be sent");
});

test("a password travels only with TLS or on this machine", () => {
  expect(() => trinoServer("http://trino:8080", {}, { password: "x" })).toThrow("not sent without TLS");
  expect(() => trinoServer("http://trino:8080", {}, { token: "x" })).toThrow("not sent without TLS");
  expect(trinoServer("https://trino/a/b", { schema: "c" }, { token: "x" })).toMatchObject({
    origin: "https://trino",
    catalog: "a",
    schema: "c",
    authorization: "Bearer x",
  });
  expect(trinoServer("http://localhost:1", {}, { password: "x" }).authorization).toBeDefined();
});
