import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { nasty } from "../any-attack.js";
import type { Target } from "../hostile-client.js";

/** What a hostile client of the stream does on a separate connection. */
export interface StreamAttack {
  /** Path and query of the handshake. */
  readonly path: string;
  /** What is sent after the handshake, without waiting for its response. */
  readonly frames: readonly Uint8Array[];
  /** What follows: reads until nothing more comes, never reads, or goes at once. */
  readonly after: "read" | "starve" | "leave";
}

/** How long nothing may come before no more is expected. */
const SILENCE_MS = 200;
/** For how long a client does not read. */
const STARVE_MS = 100;
/** Codes with which the service may end a connection: RFC 6455, 7.4.1. */
const CLOSE_CODES = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009]);
const OPS = new Set(["subscribed", "quotes", "error"]);

const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];

interface FrameOptions {
  readonly opcode?: number;
  readonly isLast?: boolean;
  readonly isMasked?: boolean;
  /** Bits of extensions that nobody agreed on. */
  readonly reserved?: number;
  /** The length that the head states. @default the payload's */
  readonly stated?: bigint;
}

/** A frame of RFC 6455, whose parts may be wrong. */
function frame(
  payload: Uint8Array,
  { opcode = TEXT, isLast = true, isMasked = true, reserved = 0, stated }: FrameOptions = {},
): Buffer {
  const length = stated ?? BigInt(payload.length);
  const head = [(isLast ? 0x80 : 0) | (reserved << 4) | opcode];
  const mask = isMasked ? 0x80 : 0;
  const more = Buffer.alloc(length < 126n ? 0 : length < 65_536n ? 2 : 8);
  if (more.length === 0) head.push(mask | Number(length));
  else if (more.length === 2) {
    head.push(mask | 126);
    more.writeUInt16BE(Number(length));
  } else {
    head.push(mask | 127);
    more.writeBigUInt64BE(length);
  }
  // A mask of zeros leaves the payload as it is.
  return Buffer.concat([Buffer.from(head), more, Buffer.alloc(isMasked ? 4 : 0), payload]);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const command = (symbols: readonly string[], op = "subscribe"): Buffer =>
  frame(json({ op, channel: "quotes", symbols }));
const symbolsFrom = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, k) => `${first + k}.SH`);

const anyFrame: fc.Arbitrary<readonly Uint8Array[]> = fc.oneof(
  // Commands: right ones, of unknown symbols, of too many, and a flood of them.
  fc.constantFrom("subscribe", "unsubscribe", "jump").map((op) => [command(symbolsFrom(600_000, 40), op)]),
  fc.integer({ min: 1, max: 20_000 }).map((count) => [command(symbolsFrom(100_000, count))]),
  fc.constant([command(symbolsFrom(100_000, 100_000))]),
  fc
    .integer({ min: 1, max: 3000 })
    .map((count) => Array<Uint8Array>(count).fill(command(["600000.SH"], "unsubscribe"))),
  // Texts that are no commands.
  fc.array(nasty, { maxLength: 5 }).map((symbols) => [command(symbols)]),
  fc.oneof(fc.json(), nasty).map((text) => [frame(Buffer.from(text))]),
  fc.constant([frame(Buffer.from("[".repeat(100_000)))]),
  // Binary, not UTF-8, too large, or stated to be.
  fc
    .uint8Array({ maxLength: 500 })
    .chain((bytes) =>
      fc
        .constantFrom(TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG, 3, 15)
        .map((opcode) => [frame(bytes, { opcode })]),
    ),
  fc.constant([frame(Buffer.alloc(10_000_000, "x"))]),
  fc
    .constantFrom(2n ** 63n - 1n, 2n ** 64n - 1n, 2n ** 31n)
    .map((stated) => [frame(Buffer.alloc(10), { stated })]),
  // Against the protocol: without a mask, with bits of an extension, parts without a beginning or an end.
  fc.constant([frame(json({ op: "subscribe" }), { isMasked: false })]),
  fc.integer({ min: 1, max: 7 }).map((reserved) => [frame(Buffer.from("x"), { reserved })]),
  fc
    .integer({ min: 1, max: 2000 })
    .map((count) => [
      frame(Buffer.from("["), { isLast: false }),
      ...Array<Uint8Array>(count).fill(frame(Buffer.alloc(0), { opcode: CONTINUATION, isLast: false })),
    ]),
  fc
    .integer({ min: 1, max: 2000 })
    .map((count) => Array<Uint8Array>(count).fill(frame(Buffer.alloc(100), { opcode: PING }))),
  fc.uint8Array({ minLength: 1, maxLength: 500 }).map((bytes) => [bytes]),
);

/** Anything that a hostile client of the stream may do; most have a right key. */
export function anyStreamAttack(key: string): fc.Arbitrary<StreamAttack> {
  return fc.record({
    path: fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom(`/v1/ws/stream?api_key=${key}`, `/v1/ws/quotes?api_key=${key}`),
      },
      {
        weight: 1,
        arbitrary: nasty.map((text) =>
          `/v1/ws/stream?api_key=${encodeURIComponent(Buffer.from(text).toString())}`.slice(0, 8000),
        ),
      },
    ),
    frames: fc.array(anyFrame, { maxLength: 4 }).map((list) => list.flat()),
    after: fc.constantFrom<StreamAttack["after"]>("read", "read", "starve", "leave"),
  });
}

/** Carries an attack on the stream out. @throws {AssertionError} for what the service must not send. */
export async function carryOutOnStream({ path, frames, after }: StreamAttack, target: Target): Promise<void> {
  const socket = connect(target.port, target.host);
  socket.on("error", () => {});
  try {
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
    );
    const reading = after === "read" ? received(socket) : undefined;
    for (const piece of frames) {
      if (socket.destroyed) break;
      socket.write(piece);
    }
    if (after === "starve") await new Promise((resolve) => setTimeout(resolve, STARVE_MS));
    if (reading !== undefined) checkReceived(await reading);
  } finally {
    socket.destroy();
  }
}

/** All that comes until the connection ends, or has been silent for some time. */
function received(socket: Socket): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const done = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    };
    let timer: NodeJS.Timeout | undefined;
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      clearTimeout(timer);
      timer = setTimeout(done, SILENCE_MS);
    });
    socket.on("close", done);
  });
}

/** @throws {AssertionError} */
function checkReceived(bytes: Buffer): void {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return;
  const status = Number(bytes.toString("latin1", 9, 12));
  assert.ok([101, 400, 401, 429].includes(status), `handshake: ${status}`);
  if (status !== 101) return;
  for (let at = end + 4; at + 2 <= bytes.length; ) {
    const opcode = (bytes[at] as number) & 15;
    const short = (bytes[at + 1] as number) & 127;
    const wide = short < 126 ? 0 : short === 126 ? 2 : 8;
    const start = at + 2 + wide;
    if (start > bytes.length) return;
    const length =
      wide === 0 ? short : wide === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    if (start + length > bytes.length) return;
    const payload = bytes.subarray(start, start + length);
    if (opcode === TEXT) {
      const { op } = JSON.parse(payload.toString()) as { op: string };
      assert.ok(OPS.has(op), `message ${payload.toString().slice(0, 200)}`);
    } else if (opcode === CLOSE && length >= 2) {
      const code = payload.readUInt16BE(0);
      assert.ok(CLOSE_CODES.has(code), `closed with ${code} ${payload.toString("utf8", 2)}`);
    }
    at = start + length;
  }
}
