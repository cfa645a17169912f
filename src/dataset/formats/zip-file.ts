import { crc32 } from "node:zlib";

/** The first of January 1980 in DOS's notation, so that the same content gives the same bytes. */
const DATE = 0x21;

/**
 * A zip archive of one file, stored as it is: what a compressor makes of it differs between machines. At most 4 GiB.
 *
 * @param name of the file, in ASCII.
 */
export function zipOf(name: string, text: string): Uint8Array {
  const [path, content] = [Buffer.from(name, "latin1"), Buffer.from(text)];
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(10, 0);
  facts.writeUInt16LE(DATE, 8);
  facts.writeUInt32LE(crc32(content), 10);
  facts.writeUInt32LE(content.length, 14);
  facts.writeUInt32LE(content.length, 18);
  facts.writeUInt16LE(path.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), facts, path, content]);
  // The program that wrote it, the facts again, then 14 bytes of comment, disk, attributes and position: all 0.
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x0a\x00", "latin1"), facts, Buffer.alloc(14), path]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}
