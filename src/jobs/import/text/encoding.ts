import { isUtf8 } from "node:buffer";
import { fieldNames, plainName } from "../plan/field-names.js";

/** Encodings that a user may name, as `TextDecoder` knows them. */
export const ENCODINGS = [
  "utf-8",
  "utf-16le",
  "utf-16be",
  "gb18030",
  "gbk",
  "big5",
  "shift_jis",
  "euc-kr",
  "windows-1252",
  "latin1",
] as const;

/** The encoding that the first bytes of a text show; undefined where they show none. */
export function encodingOfStart(start: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | undefined {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return "utf-8";
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  // ASCII in UTF-16 has a zero byte in each pair.
  const pairs = Math.min(start.length >> 1, 64);
  let [even, odd] = [0, 0];
  for (let i = 0; i < pairs; i++) {
    if (start[2 * i] === 0) even += 1;
    if (start[2 * i + 1] === 0) odd += 1;
  }
  if (pairs >= 4 && odd > pairs / 2 && even === 0) return "utf-16le";
  if (pairs >= 4 && even > pairs / 2 && odd === 0) return "utf-16be";
  return undefined;
}

/** Whether pieces of a text are UTF-8. A piece may end within a character. */
export async function arePiecesUtf8(pieces: AsyncIterable<Uint8Array>): Promise<boolean> {
  let rest = new Uint8Array();
  for await (const piece of pieces) {
    // No byte of a character of several bytes is a newline.
    const end = piece.lastIndexOf(0x0a) + 1;
    const whole = rest.length === 0 ? piece.subarray(0, end) : Buffer.concat([rest, piece.subarray(0, end)]);
    if (end > 0 && !isUtf8(whole)) return false;
    rest = end > 0 ? Uint8Array.from(piece.subarray(end)) : Buffer.concat([rest, piece]);
  }
  return isUtf8(rest);
}

/** Column names in Chinese of every table. */
const CHINESE = new Set(
  ["bars_1d", "instruments", "universes", "income"]
    .flatMap((table) => Object.values(fieldNames(table)).flat())
    .filter((name) => /\p{Script=Han}/u.test(name)),
);

/**
 * Whether bytes that are not UTF-8 are Chinese text in GB18030: they decode without an error, and a cell is the name of
 * a column.
 */
export function isGb18030(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder("gb18030", { fatal: true }).decode(head, { stream: true });
    return text.split(/[\t,;|\r\n]/).some((cell) => CHINESE.has(plainName(cell)));
  } catch {
    return false;
  }
}
