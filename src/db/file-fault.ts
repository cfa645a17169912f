import { existsSync, statfsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { messageOf } from "../core/errors.js";
import { TABLES } from "../schema/tables.js";

interface FileFault {
  readonly message: string;
  readonly hint: string;
}

/** Reasons why a write failed: the system's code, DuckDB's words for it, and what to do. */
const WRITE_FAULTS: readonly {
  readonly code: string;
  readonly words: string;
  readonly hint: (folder: string) => string;
  /** Whether the path that the system names prevents the write: it is not the file that was to be written. */
  readonly isInTheWay?: boolean;
}[] = [
  { code: "ENOSPC", words: "No space left on device", hint: (folder) => `the disk is full${freeIn(folder)}` },
  { code: "EDQUOT", words: "Disk quota exceeded", hint: (folder) => `the quota is used up${freeIn(folder)}` },
  {
    code: "EFBIG",
    words: "File too large",
    hint: (folder) => `a limit on the size of a file was reached (ulimit -f shows it)${freeIn(folder)}`,
  },
  { code: "EROFS", words: "Read-only file system", hint: () => "the file system is mounted read-only" },
  { code: "EACCES", words: "Permission denied", hint: () => "the folder is not writable for this user" },
  { code: "EIO", words: "Input/output error", hint: () => "the disk reports an error" },
  { code: "ENOTDIR", words: "Not a directory", hint: moveAway, isInTheWay: true },
  { code: "EEXIST", words: "File exists", hint: moveAway, isInTheWay: true },
];

function moveAway(): string {
  return "it is a file, and a folder is needed: move it away";
}

const SPACE: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const again = (code: string): string =>
  `what was committed remains, and nothing half-done is visible: ${SPACE.has(code) ? "once there is space" : "once that is repaired"}, run the command again`;

/**
 * Why the lake could not write a file, where the disk was the reason; undefined for any other error. @param error what
 * the system threw, with its code. @param next what that means for the user's work. @default that of a command, which
 * is run again
 */
export function writeFaultOf(error: unknown, path: string, next?: string): FileFault | undefined {
  const { code, path: named } = error as NodeJS.ErrnoException;
  const fault = WRITE_FAULTS.find((one) => one.code === code);
  return fault && writeFault(fault, (fault.isInTheWay === true ? named : undefined) ?? path, next);
}

/** The meaning of a DuckDB message about a file of a lake's table, or about a file that was being written. */
function fileFaultIn(message: string): FileFault | undefined {
  const [first = ""] = message.split("\n");
  return (
    writeFaultIn(first) ??
    storeFaultIn(first) ??
    shortRangeIn(first) ??
    readFaultIn(first) ??
    refusedTableIn(first) ??
    namelessFaultIn(first)
  );
}

/** Reads the error of a refused table's view: the table's name, the reason, and in parentheses what to do. */
function refusedTableIn(line: string): FileFault | undefined {
  const [, message, hint] =
    /^Invalid Input Error: (table \w+: .*?) \(([^()]*(?:\([^()]*\)[^()]*)*)\)$/.exec(line) ?? [];
  return message === undefined || hint === undefined ? undefined : { message, hint };
}

function writeFaultIn(line: string): FileFault | undefined {
  const fault = WRITE_FAULTS.find(({ words }) => line.includes(words));
  if (fault === undefined) return undefined;
  const path = /["']([^"']*\/[^"']*)["']/.exec(line)?.[1] ?? "";
  const isWrite = /\b(write|create|offload|sync|truncate)\b/i.test(line) || fault.code === "EROFS";
  if (!isWrite && !UNFINISHED.test(path)) return undefined;
  return writeFault(fault, path.replace(UNFINISHED, "/$1$2"));
}

/** A file that is only ever written: one of `.staging`, or an output `.NAME.UUID` next to the file that it becomes. */
const UNFINISHED = /\/(\.staging\/[^/]+)$|\/\.([^/]+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function writeFault(
  { code, words, hint }: (typeof WRITE_FAULTS)[number],
  path: string,
  next = again(code),
): FileFault {
  const isLakes = /\/(\.staging|_delta_log)\//.test(path) || tableFileIn(path) !== undefined;
  const subject = isLakes || path === "" ? "the lake" : `file ${path}`;
  const where = isLakes ? ` (${path})` : "";
  return {
    message: `${subject} could not be written: ${words}${where}`,
    hint: `${hint(dirname(path))}; ${next}`,
  };
}

function readFaultIn(line: string): FileFault | undefined {
  if (/^(Parser|Catalog|Conversion) Error/.test(line)) return undefined;
  const [, quoted = /file: ((?:s3:\/)?\/[^,]*\.parquet)/.exec(line)?.[1]] =
    /["']((?:s3:\/)?\/[^"']*\.parquet)["']/.exec(line) ?? [];
  const found = quoted === undefined ? undefined : tableFileIn(quoted);
  if (quoted === undefined || found === undefined) return undefined;
  const subject = `table ${found.table}: ${found.file}`;
  if (/No files found|\(HTTP 404/.test(line))
    return { message: `${subject} is missing`, hint: `${RESTORE}; barlake check shows what else is missing` };
  const reason = line.replace(quoted, basename(quoted)).replace(/^[A-Z][\w ]* Error: /, "");
  return {
    message: `${subject} is not readable: ${reason}`,
    hint: `${RESTORE}; barlake check --deep shows what else is damaged`,
  };
}

/** A request to a store that failed, of a file that may be whole: its URL, and the status where there was a response. */
function storeFaultIn(line: string): FileFault | undefined {
  const [, url] = /\bHTTP (?:GET|HEAD)\b.*?'((?:https?|s3):\/\/[^']+\.parquet)/.exec(line) ?? [];
  const [, status] = /\(HTTP (\d{3})/.exec(line) ?? [];
  if (url === undefined || status === "404") return undefined;
  const path = decoded(url);
  const found = tableFileIn(path);
  if (found === undefined) return undefined;
  const reason = line
    .replace(/^[A-Z][\w ]* Error: /, "")
    .replace(/ (?:to|on|reading) '[^']*'(?: in region '[^']*')?/, "")
    .replace(/^Timeout was reached error for/, "it did not respond in time to")
    .trim();
  return {
    message: `table ${found.table}: ${found.file} could not be read from the store at ${new URL(url).host}: ${reason}`,
    hint:
      status === "403" || status === "401"
        ? "these credentials may not read it: they need s3:GetObject on the lake's objects"
        : "the store or the network to it is not well; run the command again",
  };
}

/** DuckDB's message about a response with fewer or more bytes of a file than were requested. It does not name the file. */
const SHORT_RANGE = /^(?:HTTP|IO) Error: Content-Length from server mismatches requested range/;

function shortRangeIn(line: string): FileFault | undefined {
  if (!SHORT_RANGE.test(line)) return undefined;
  return {
    message: "the store sent fewer or more bytes of a file than were requested",
    hint: "the store, or a proxy before it, is not well; run the command again",
  };
}

/** Statuses below 500 after which the same request may succeed: a timeout, and a store that asks for fewer requests. */
const PASSING_STATUS = new Set([408, 429]);

/**
 * Whether a message of DuckDB is about a request to a store that failed, and that may succeed later: there was no response,
 * the response was incomplete, or the store was not well.
 */
export function isPassingStoreFault(message: string): boolean {
  if (SHORT_RANGE.test(message)) return true;
  if (!/^(?:HTTP|IO) Error: .*\bHTTP (?:GET|HEAD)\b/.test(message)) return false;
  const [, status] = /\(HTTP (\d{3})/.exec(message) ?? [];
  return status === undefined || Number(status) >= 500 || PASSING_STATUS.has(Number(status));
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

const RESTORE = "restore the file from a backup, or run barlake repair";

/** DuckDB's messages about damaged Parquet files that do not name the file. */
const NAMELESS = /TProtocolException|don't know what type|invalid TType|Payload value bigger than allowed/;

function namelessFaultIn(line: string): FileFault | undefined {
  if (!NAMELESS.test(line)) return undefined;
  return {
    message: `a Parquet file is damaged: ${line.replace(/^[A-Z][\w ]* Error: /, "").trim()}`,
    hint: "barlake check --deep shows which one it is, where it is the lake's",
  };
}

/** The table of a data file, and the file's path in that table; undefined for a path outside of any table. */
function tableFileIn(path: string): { table: string; file: string } | undefined {
  const parts = path.split("/");
  const at = parts.findLastIndex((part) => TABLES.some(({ name }) => name === part));
  if (at < 1 || at === parts.length - 1 || !path.endsWith(".parquet")) return undefined;
  return { table: parts[at] as string, file: parts.slice(at + 1).join("/") };
}

/** The free space where a folder is or will be, as text; empty where it is not known. */
function freeIn(folder: string): string {
  if (!existsSync(folder) && dirname(folder) !== folder) return freeIn(dirname(folder));
  try {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    return `, with ${free < 1e9 ? `${(free / 1e6).toFixed(1)} MB` : `${(free / 1e9).toFixed(1)} GB`} free in ${folder}`;
  } catch {
    return "";
  }
}

/** The message of a thrown value; where it is about a file, a clearer message and a hint. */
export function explained(error: unknown): Partial<FileFault> & Pick<FileFault, "message"> {
  const message = messageOf(error)
    .replace(/^Failed to extract statements: /, "")
    .replace(/\s*Stack Trace:[^]*$/, "");
  return fileFaultIn(message) ?? { message, ...(isFatal(message) && { hint: FATAL_HINT }) };
}

const FATAL_HINT =
  "DuckDB has failed inside, and has ended this session: start another one, without this statement";

/** Whether a message of DuckDB means that its database takes no further statement. */
export function isFatal(message: string): boolean {
  return /^(?:INTERNAL|FATAL) Error: /.test(message);
}
