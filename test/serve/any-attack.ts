import fc from "fast-check";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { unicodeText } from "../unicode-text.js";
import type { Attack } from "./hostile-client.js";

/** Values that break naive services. */
export const nasty = fc.oneof(
  fc.constantFrom(
    "'; DROP TABLE bars_1d; --",
    "600000.SH' OR '1'='1",
    "600000.SH') UNION SELECT * FROM read_text('/etc/passwd') --",
    '"]}',
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "\u0000",
    "%00",
    "$requested",
    "999999999999999999999",
    "-1",
    "1e308",
    "1e-7",
    "0x10",
    "NaN",
    "Infinity",
    "0000-01-01",
    "9999-12-31",
    "2024-02-30",
    "__proto__",
    "constructor",
    "toString",
    "\ud800",
    "𠮷.SH",
    "\u202e600000.SH",
    "600000.SH",
    "600000.SH,600000.SH",
    "1m",
    "1Y",
    "none",
    "backward",
    "true",
    "10000",
    "9223372036854775807",
    "-9223372036854775808",
    "8640000000000001",
  ),
  unicodeText(),
  fc.string(),
  fc.bigInt().map(String),
  fc
    .integer({ min: 1, max: 400 })
    .map((n) => Array.from({ length: n }, (_, k) => `${600_000 + k}.SH`).join()),
);

/** Names that parameters of the interface have. */
export const NAMES = [
  "symbols",
  "symbol",
  "period",
  "count",
  "start_time",
  "end_time",
  "adjust",
  "universes",
  "type",
  "latest",
  "start_date",
  "end_date",
] as const;

const encoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

const anyQuery = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), nasty), { maxLength: 6 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${encoded(value)}`).join("&"));

const anyPath = fc
  .tuple(fc.constantFrom(...Object.values(ENDPOINTS)), nasty, anyQuery, fc.boolean())
  .map(([{ path }, part, query, isOdd]) =>
    isOdd ? `/${encoded(part)}?${query}` : `${path.replaceAll(/:[a-z]+/g, encoded(part) || "x")}?${query}`,
  )
  .map((path) => path.slice(0, 20_000));

/** Any text that a line of a header can hold. */
const line = (text: string): string => text.replaceAll(/[^\t\u0020-\u007e]/g, "?").slice(0, 40_000);

const anyHeader = fc.oneof(
  fc.constantFrom(
    "x-api-key: wrong",
    "X-API-KEY: a, b",
    "content-type: text/plain",
    "content-type: application/json; charset=utf-7",
    "content-encoding: gzip",
    "accept: image/png",
    "accept-encoding: gzip;q=nonsense",
    "expect: 100-continue",
    "expect: the-unexpected",
    "upgrade: websocket",
    "connection: upgrade",
    "range: bytes=0-1",
    "if-none-match: *",
    "x-http-method-override: DELETE",
    "accept-version: 9.9.9",
    "x-forwarded-host: elsewhere",
    "__proto__: x",
    "cookie: =;=;;",
  ),
  fc.tuple(fc.stringMatching(/^[a-z-]{1,20}$/), nasty).map(([name, value]) => `x-${name}: ${line(value)}`),
  fc.integer({ min: 1, max: 40_000 }).map((length) => `x-long: ${"a".repeat(length)}`),
);

const anyMethod = fc.constantFrom(
  "GET",
  "GET",
  "GET",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "HEAD",
  "TRACE",
  "PROPFIND",
  "BREW",
  "get",
);

const anyBody = fc.oneof(
  fc.constant(""),
  fc.json(),
  fc
    .dictionary(
      fc.constantFrom("symbols", "universes", "ids", "__proto__", "x"),
      fc.oneof(fc.array(nasty, { maxLength: 5 }), nasty, fc.jsonValue()),
    )
    .map((value) => JSON.stringify(value)),
  fc.integer({ min: 1, max: 100_000 }).map((depth) => "[".repeat(depth)),
  fc.constant(`{"symbols":["${"x".repeat(1_100_000)}"]}`),
  unicodeText(),
);

type Whole = Pick<Attack, "pieces" | "isComplete" | "mostResponses">;

function whole(text: string, { isComplete = true, mostResponses = 1 } = {}): Whole {
  return { pieces: [Buffer.from(text, "latin1")], isComplete, mostResponses };
}

/** A request that is valid by the rules of HTTP, with any content. */
const anyRequest = (key: string): fc.Arbitrary<Whole> =>
  fc
    .tuple(anyMethod, anyPath, fc.array(anyHeader, { maxLength: 4 }), anyBody, fc.boolean())
    .map(([method, path, headers, text, isChunked]) => {
      const body = Buffer.from(text);
      const head = [
        `${method} ${path} HTTP/1.1`,
        "host: x",
        "connection: close",
        `x-api-key: ${key}`,
        ...headers,
      ];
      if (body.length > 0) {
        head.push("content-type: application/json");
        head.push(isChunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`);
      }
      const sent =
        isChunked && body.length > 0 ? [`${body.length.toString(16)}\r\n`, body, "\r\n0\r\n\r\n"] : [body];
      const pieces = [`${head.join("\r\n")}\r\n\r\n`, ...sent].map((one) => Buffer.from(one));
      // Some methods and headers have Node close the connection, or wait for what never comes.
      return {
        pieces: [Buffer.concat(pieces)],
        isComplete: method !== "BREW" && method !== "get",
        mostResponses: 1,
      };
    });

/** Requests that two readers of HTTP may understand differently: the second one in them must not be answered. */
const smuggled = (key: string): fc.Arbitrary<Whole> => {
  const hidden = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
  const post = (...headers: string[]): string =>
    `POST /v1/quotes HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n${headers.join("\r\n")}\r\n\r\n`;
  return fc.constantFrom(
    whole(`${post("content-length: 4", "transfer-encoding: chunked")}0\r\n\r\n${hidden}`),
    whole(`${post("transfer-encoding: chunked", "content-length: 60")}0\r\n\r\n${hidden}`),
    whole(`${post("content-length: 0", `content-length: ${hidden.length}`)}${hidden}`),
    whole(`${post("content-length: 0, 5")}${hidden}`),
    whole(`${post("content-length: +0")}${hidden}`),
    whole(`${post("content-length: 0x10")}${hidden}`),
    whole(`${post("content-length: -1")}${hidden}`),
    whole(`${post("transfer-encoding: xchunked")}0\r\n\r\n${hidden}`),
    whole(`${post("transfer-encoding: identity, chunked", "transfer-encoding: identity")}0\r\n\r\n${hidden}`),
    whole(`${post("transfer-encoding : chunked")}0\r\n\r\n${hidden}`),
    whole(`${post("transfer-encoding:\u000bchunked")}0\r\n\r\n${hidden}`),
    whole(`${post(" folded: x", "content-length: 0")}${hidden}`),
    whole(`${post("transfer-encoding: chunked")}zz\r\n${hidden}`),
    whole(`${post("transfer-encoding: chunked")}fffffffffffffffff\r\n${hidden}`),
    whole(`${post("transfer-encoding: chunked")}0\n\n${hidden}`),
    whole(hidden.replaceAll("\r\n", "\n")),
    whole(hidden.replace("host: x", "host: x\rx: y")),
    whole(hidden.replace("host: x", "ho\u0000st: x")),
    whole(hidden.replace("HTTP/1.1", "HTTP/9.9")),
    whole(hidden.replace(" HTTP/1.1", "")),
    whole(`${hidden}${hidden}`, { mostResponses: 2 }),
    whole("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    whole("\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\u0000"),
    whole("CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n", { isComplete: false }),
    whole("GET http://elsewhere/healthz HTTP/1.1\r\nhost: x\r\n\r\n"),
    whole("OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
  );
};

const garbage: fc.Arbitrary<Whole> = fc
  .uint8Array({ minLength: 1, maxLength: 2000 })
  .map((bytes) => ({ pieces: [bytes], isComplete: false, mostResponses: 1 }));

/** Anything that a hostile client may do. */
export function anyAttack(key: string): fc.Arbitrary<Attack> {
  return fc
    .record({
      what: fc.oneof(
        { weight: 6, arbitrary: anyRequest(key) },
        { weight: 2, arbitrary: smuggled(key) },
        { weight: 1, arbitrary: garbage },
      ),
      cuts: fc.array(fc.nat({ max: 3000 }), { maxLength: 4 }),
      keep: fc.oneof(
        { weight: 6, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
      ),
      pauseMs: fc.constantFrom(0, 0, 0, 1, 20),
      after: fc.constantFrom<Attack["after"]>("read", "read", "read", "dawdle", "leave"),
    })
    .map(({ what, cuts, keep, pauseMs, after }) => {
      const all = Buffer.concat(what.pieces);
      const sent = all.subarray(0, Math.ceil(all.length * keep));
      return {
        ...what,
        isComplete: what.isComplete && sent.length === all.length,
        pieces: cutAt(sent, cuts),
        pauseMs,
        after,
      };
    });
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Uint8Array[] {
  const places = [
    0,
    ...[...new Set(cuts)].filter((at) => at > 0 && at < bytes.length).sort((a, b) => a - b),
    bytes.length,
  ];
  return places.slice(1).map((end, k) => bytes.subarray(places[k], end));
}
