import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { UsageError } from "../../../core/errors.js";
import { damagedFile } from "./whole-file.js";

/** A member of a zip archive. */
interface Member {
  readonly name: string;
  /** 0: stored, 8: deflated. */
  readonly method: number;
  readonly crc: number;
  readonly size: number;
  /** Position of its local header, in bytes. */
  readonly start: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
/** The end record with the longest comment. */
const END_BYTES = 22 + 0xffff;

/**
 * Writes the only member of a zip archive to a file.
 *
 * @returns the member's name.
 * @throws {UsageError} where there are several members; `BarlakeError` where the archive is truncated or damaged.
 */
export async function unzip(path: string, to: string): Promise<string> {
  const members = await membersOf(path);
  const [member] = members;
  if (member === undefined || members.length > 1) {
    throw new UsageError(`file ${path}: has ${members.length} members, and an import takes archives of one`, {
      hint: "unpack it, and name the files",
    });
  }
  if (member.method !== 0 && member.method !== 8)
    throw new UsageError(`file ${path}: is compressed in a way that is not supported (${member.method})`);
  const start = await contentStart(path, member);
  const end = start + member.size - 1;
  let crc = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      crc = crc32(chunk, crc);
      done(null, chunk);
    },
  });
  const content = createReadStream(path, member.size === 0 ? { end: 0 } : { start, end });
  const steps = member.method === 8 ? [content, createInflateRaw(), check] : [content, check];
  await pipeline([...steps, createWriteStream(to)]).catch((cause: unknown) => {
    throw damagedFile(path, cause);
  });
  if (crc >>> 0 !== member.crc) throw damagedFile(path);
  return member.name;
}

async function membersOf(path: string): Promise<Member[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(Math.min(size, END_BYTES));
    await file.read(tail, 0, tail.length, size - tail.length);
    let at = tail.length - 22;
    while (at >= 0 && tail.readUInt32LE(at) !== END) at -= 1;
    if (at < 0) throw damagedFile(path);
    const directory = Buffer.alloc(tail.readUInt32LE(at + 12));
    await file.read(directory, 0, directory.length, tail.readUInt32LE(at + 16));
    const members: Member[] = [];
    for (let p = 0; p + 46 <= directory.length && directory.readUInt32LE(p) === CENTRAL; ) {
      const nameBytes = directory.readUInt16LE(p + 28);
      const name = directory.toString("utf8", p + 46, p + 46 + nameBytes);
      members.push({
        name,
        method: directory.readUInt16LE(p + 10),
        crc: directory.readUInt32LE(p + 16),
        size: directory.readUInt32LE(p + 20),
        start: directory.readUInt32LE(p + 42),
      });
      p += 46 + nameBytes + directory.readUInt16LE(p + 30) + directory.readUInt16LE(p + 32);
    }
    return members.filter(({ name }) => !name.endsWith("/") && !name.startsWith("__MACOSX/"));
  } finally {
    await file.close();
  }
}

async function contentStart(path: string, { start }: Member): Promise<number> {
  const file = await open(path);
  try {
    const header = Buffer.alloc(30);
    await file.read(header, 0, 30, start);
    return start + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  } finally {
    await file.close();
  }
}
