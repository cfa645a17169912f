import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { INSTRUMENTS } from "../../../../src/schema/reference.js";
import { KEY, landReference, listed, serveForFile } from "../../served-lake.js";

const KLINES = "/v1/klines/batch?symbols=600000.SH";

const served = serveForFile(async (lake) => {
  await landReference(lake, INSTRUMENTS, [listed("600000.SH")]);
});

/** Sends bytes as they are, and gives what comes back until the connection ends, or is reset as not all was read. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let response = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(text));
    socket.on("data", (bytes) => (response += bytes));
    socket.on("close", () => resolve(response));
    socket.on("error", () => {});
  });
}

describe("what is not of the interface", () => {
  test("paths are not found", async () => {
    for (const path of ["/v1", "/v1/nope", "/v1/klines/batch/", "/v2/klines/batch", `/${"x".repeat(500)}`]) {
      const { status, body } = await served.ask(path);
      expect([status, body]).toEqual([
        404,
        { code: "NOT_FOUND", message: "path is not one of the interface's" },
      ]);
    }
    expect((await served.ask(`/v1/exchanges/${"x".repeat(500)}/instruments`)).status).toBe(404);
    expect((await served.ask("/v1/exchanges/MARS/instruments")).body).toEqual({
      code: "NOT_FOUND",
      message: 'exchange "MARS" is not known',
    });
  });

  test("other methods are refused, and the allowed ones are named", async () => {
    for (const [method, path, allow] of [
      ["POST", "/v1/klines/batch", "GET, HEAD"],
      ["DELETE", "/v1/quotes", "POST, GET, HEAD"],
      ["DELETE", "/v1/instruments", "GET, HEAD, POST"],
      ["PUT", "/v1/exchanges/SH/instruments", "GET, HEAD"],
      ["POST", "/healthz", "GET, HEAD"],
    ] as const) {
      const { status, headers, body } = await served.ask(path, { method });
      expect([status, headers.get("allow")]).toEqual([405, allow]);
      expect(body).toEqual({
        code: "METHOD_NOT_ALLOWED",
        message: `method ${method} is not one of ${allow}`,
      });
    }
  });

  test("paths that are no URL are refused", async () => {
    const { status, body } = await served.ask("/v1/%zz");
    expect([status, body]).toEqual([
      400,
      { code: "INVALID_PARAMETER", message: "path is not a valid URL path" },
    ]);
  });

  test("URLs above 128 KiB are refused", async () => {
    const symbols = (length: number): string => `${KLINES}&x=`.padEnd(length, "y");
    expect((await served.ask(symbols(128 * 1024))).status).toBe(200);
    const { status, body } = await served.ask(symbols(128 * 1024 + 1));
    expect([status, body]).toEqual([
      400,
      { code: "INVALID_PARAMETER", message: "URL is longer than 131072 characters" },
    ]);
    const response = await raw(
      served.service.port,
      `GET ${symbols(200_000)} HTTP/1.1\r\nHost: x\r\nx-api-key: ${KEY}\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(response.slice(response.indexOf("{")))).toMatchObject({ code: "INVALID_PARAMETER" });
  });

  test("bytes that are no HTTP are refused", async () => {
    const response = await raw(served.service.port, "hello\r\n\r\n");
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(response.slice(response.indexOf("{")))).toMatchObject({ code: "INVALID_PARAMETER" });
  });
});

describe("bodies", () => {
  const send = (body: string | undefined, type: string | undefined) =>
    served.ask<{ code: string; message: string }>("/v1/instruments", {
      method: "POST",
      ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
      headers: type === undefined ? {} : { "content-type": type },
    });

  test("that are not JSON, or not said to be, are refused", async () => {
    for (const [body, type, message] of [
      ["{", "application/json", "body is not JSON"],
      ["", "application/json", "body is required"],
      ['{"__proto__":{"x":1}}', "application/json", "body is not JSON"],
      ['{"symbols":["A.SH"]}', "text/plain", "content-type is not application/json"],
      ['{"symbols":["A.SH"]}', "application/xml", "content-type is not application/json"],
      ['{"symbols":["A.SH"]}', undefined, "content-type is not application/json"],
    ] as const) {
      const reply = await send(body, type);
      expect([reply.status, reply.body]).toEqual([400, { code: "INVALID_PARAMETER", message }]);
    }
    expect((await send('{"symbols":["600000.SH"]}', "application/json; charset=utf-8")).status).toBe(200);
  });

  test("that have another form are refused, naming the member", async () => {
    for (const [body, message] of [
      ["{}", "symbols is not an array of strings"],
      ['{"symbols":"A.SH"}', "symbols is not an array of strings"],
      ['{"symbols":[1]}', "symbols.0 is not a string"],
    ] as const) {
      expect((await send(body, "application/json")).body).toEqual({ code: "INVALID_PARAMETER", message });
    }
    for (const body of ["[]", "1", '"x"', "true"]) {
      const reply = await send(body, "application/json");
      expect([reply.status, reply.body.code]).toEqual([400, "INVALID_PARAMETER"]);
    }
    expect((await send(undefined, undefined)).status).toBe(400);
  });

  test("above 1 MiB are refused", async () => {
    const fits = JSON.stringify({ symbols: ["x"], x: "y".repeat(1024 * 1024 - 33) });
    expect((await send(fits, "application/json")).status).toBe(200);
    const reply = await send(`${fits}${" ".repeat(100)}`, "application/json");
    expect([reply.status, reply.body]).toEqual([
      413,
      { code: "PAYLOAD_TOO_LARGE", message: "body is larger than 1 MiB" },
    ]);
  });
});
