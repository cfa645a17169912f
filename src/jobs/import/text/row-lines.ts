import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";

const [NEWLINE, RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/**
 * The physical lines of some rows of a CSV file: blank lines, malformed ones and those within quotes are no rows.
 *
 * @param path a file that is not compressed, or a .gz.
 * @param firstLine the line of the first row, from 1.
 * @param malformed lines that are no rows.
 * @param rows numbers of rows, from 0, ascending.
 */
export async function rowLines(
  path: string,
  firstLine: number,
  malformed: ReadonlySet<number>,
  rows: readonly number[],
): Promise<Map<number, number>> {
  const lines = new Map<number, number>();
  const raw = createReadStream(path, { highWaterMark: 1 << 20 });
  const input = /\.gz$/i.test(path) ? raw.pipe(createGunzip()) : raw;
  let [line, start, row, next] = [1, 1, 0, 0];
  let [isQuoted, isBlank, wasReturn] = [false, true, false];
  const end = (): void => {
    if (!isBlank && start >= firstLine && !malformed.has(start)) {
      if (row === rows[next]) {
        lines.set(row, start);
        next += 1;
      }
      row += 1;
    }
    isBlank = true;
  };
  for await (const piece of input as AsyncIterable<Buffer>) {
    for (const byte of piece) {
      const isAfterReturn = wasReturn;
      wasReturn = false;
      if (byte === NEWLINE || byte === RETURN) {
        if (byte === NEWLINE && isAfterReturn) {
          if (!isQuoted) start = line;
          continue;
        }
        wasReturn = byte === RETURN;
        line += 1;
        if (isQuoted) continue;
        end();
        start = line;
        continue;
      }
      if (byte === QUOTE) isQuoted = !isQuoted;
      isBlank = false;
    }
    if (next >= rows.length) break;
  }
  end();
  return lines;
}

/** The texts of some physical lines. @param path a file that is not compressed, or a .gz. */
export async function textsOfLines(path: string, wanted: ReadonlySet<number>): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const raw = createReadStream(path);
  const input = /\.gz$/i.test(path) ? raw.pipe(createGunzip()) : raw;
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (wanted.has(number)) found.set(number, line);
    if (found.size === wanted.size) break;
  }
  return found;
}
