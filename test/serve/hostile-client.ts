import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { type HttpReply, readReplies } from "./http-replies.js";

/** What a hostile client does on a separate connection. */
export interface Attack {
  /** What is sent, in pieces, with pauses between. */
  readonly pieces: readonly Uint8Array[];
  readonly pauseMs: number;
  /** What follows: reads all there is, reads a little and slowly and goes, or goes at once. */
  readonly after: "read" | "dawdle" | "leave";
  /** Whether the service must answer: the request is complete. */
  readonly isComplete: boolean;
  /** Responses that there may be at most: more means that one request was taken for two. */
  readonly mostResponses: number;
}

/** Where an attack goes to. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  /** After how long without a response a complete request counts as unanswered. @default never */
  readonly patienceMs?: number;
}

/** How long nothing may come before no more is expected: it can keep a response too many from being seen, and no other. */
const SILENCE_MS = 200;

/** Carries an attack out. @throws {AssertionError} for a response that breaks a rule, or for none. */
export async function carryOut(attack: Attack, target: Target): Promise<void> {
  const socket = connect(target.port, target.host);
  socket.on("error", () => {});
  // The reader listens from the beginning: the connection may close before all is sent.
  const reading =
    attack.after === "read"
      ? received(socket, attack.isComplete ? (target.patienceMs ?? Number.POSITIVE_INFINITY) : SILENCE_MS)
      : undefined;
  try {
    for (const piece of attack.pieces) {
      if (socket.destroyed) break;
      socket.write(piece);
      if (attack.pauseMs > 0) await pause(attack.pauseMs);
    }
    if (attack.after === "dawdle") await dawdle(socket);
    if (reading === undefined) return;
    const { bytes, isOver } = await reading;
    const replies = readReplies(bytes);
    for (const reply of replies) checkReply(reply);
    if (!attack.isComplete) return;
    assert.ok(isOver || replies.length > 0, "no response");
    assert.ok(replies.length <= attack.mostResponses, `${replies.length} responses`);
  } finally {
    socket.destroy();
  }
}

/** What every response must be like. @throws {AssertionError} */
function checkReply({ status, body, isWhole }: HttpReply): void {
  if (body === "" && (!isWhole || status < 200)) return;
  const text = body.slice(0, 200);
  assert.ok(
    status < 500 || (status === 503 && body.includes('"INTRADAY_UNAVAILABLE"')),
    `${status}: ${text}`,
  );
  // The pages for people are the only responses that are not JSON.
  if (!isWhole || (status === 200 && body.startsWith("<!doctype html>"))) return;
  const value: unknown = JSON.parse(body);
  assert.ok(typeof value === "object" && value !== null, text);
  if (status === 200) assert.ok("data" in value || "status" in value, text);
  else assert.deepEqual(Object.keys(value), ["code", "message"]);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes a little now and then, and goes. */
async function dawdle(socket: Socket): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    socket.read(10);
    await pause(10);
  }
}

/**
 * All that comes until the connection ends, or has been silent for some time: after the first response, where one is
 * awaited, however long that takes.
 */
function received(socket: Socket, patienceMs: number): Promise<{ bytes: Buffer; isOver: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const done = (isOver: boolean): void => {
      clearTimeout(timer);
      resolve({ bytes: Buffer.concat(chunks), isOver });
    };
    let timer = Number.isFinite(patienceMs) ? setTimeout(done, patienceMs, false) : undefined;
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (patienceMs > SILENCE_MS && readReplies(Buffer.concat(chunks)).length === 0) return;
      clearTimeout(timer);
      timer = setTimeout(done, SILENCE_MS, false);
    });
    socket.on("close", () => done(true));
  });
}
