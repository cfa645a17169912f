const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: [^\r\n]*)?$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*$/;
const HEAD_END = "\r\n\r\n";
const MOST_HEAD_BYTES = 64 * 1024;
/** Most characters of a line with the size of a chunk, 13 digits: a larger number is not exact. */
const MOST_SIZE_CHARACTERS = 13;
const [CARRIAGE_RETURN, LINE_FEED] = [0x0d, 0x0a];

/** What the next byte belongs to. `afterData`: the line end after a chunk. `last`: that after the chunk of size 0. */
type Place = "head" | "body" | "size" | "data" | "afterData" | "last" | "end";

/**
 * Reads one HTTP/1.1 response, in pieces that may be cut anywhere, and counts the bytes of its body. The body must have
 * a content length or be chunked, without extensions and trailers. It is a class because it owns the state between the
 * pieces.
 */
export class ResponseReader {
  readonly #mostStated: number;
  #place: Place = "head";
  /** The head, or the line with the size of a chunk, as far as it has arrived. */
  #text = "";
  /** Bytes of the body or of a chunk that are still to come; for a line end, how many of its bytes have come. */
  #left = 0;
  #status = 0;
  #bodyBytes = 0;
  readonly #stated: Buffer[] = [];

  /** @param mostStated bytes of the body that are remembered where the status is not 200, in whole pieces. */
  constructor(mostStated: number) {
    this.#mostStated = mostStated;
  }

  /** 0 before the head has arrived. */
  get status(): number {
    return this.#status;
  }

  /** Bytes of the body that have arrived, without those of the chunks' framing. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** The beginning of a body whose status is not 200. */
  statedBody(): string {
    return Buffer.concat(this.#stated).toString();
  }

  /**
   * Takes the next bytes of the connection; they are not needed after the call.
   *
   * @returns whether the response has ended with them.
   * @throws {Error} for a response of another form, and for bytes after its end.
   */
  read(piece: Uint8Array): boolean {
    let at = this.#place === "head" ? this.#readHead(piece) : 0;
    while (at < piece.length) at = this.#readBody(piece, at);
    return this.#place === "end";
  }

  /** @returns where the body begins in the piece. */
  #readHead(piece: Uint8Array): number {
    const before = this.#text.length;
    this.#text += Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString(
      "latin1",
      0,
      MOST_HEAD_BYTES,
    );
    const end = this.#text.indexOf(HEAD_END);
    if (end < 0) {
      if (this.#text.length >= MOST_HEAD_BYTES) throw new Error("the head of the response is too long");
      return piece.length;
    }
    this.#takeHead(this.#text.slice(0, end));
    this.#text = "";
    return end + HEAD_END.length - before;
  }

  #takeHead(head: string): void {
    const [first = "", ...lines] = head.split("\r\n");
    const status = STATUS_LINE.exec(first)?.[1];
    if (status === undefined) throw new Error(`status line ${JSON.stringify(first)} is not known`);
    this.#status = Number(status);
    if (this.#status < 200 || this.#status === 204 || this.#status === 304)
      throw new Error(`status ${status} has no body`);
    const framing: string[] = [];
    for (const line of lines) {
      const [, name, value] = HEADER.exec(line) ?? [];
      if (name === undefined) throw new Error(`header ${JSON.stringify(line)} is not known`);
      const known = name.toLowerCase();
      if (known === "content-length" || known === "transfer-encoding")
        framing.push(`${known}: ${value?.toLowerCase()}`);
    }
    const [only = "", another] = framing;
    const length = /^content-length: (\d{1,15})$/.exec(only)?.[1];
    if (another !== undefined || (length === undefined && only !== "transfer-encoding: chunked"))
      throw new Error(`framing ${JSON.stringify(framing)} is not known`);
    this.#left = Number(length ?? 0);
    if (length === undefined) this.#place = "size";
    else this.#place = this.#left === 0 ? "end" : "body";
  }

  /** @returns up to where the piece is read. */
  #readBody(piece: Uint8Array, at: number): number {
    switch (this.#place) {
      case "body":
        return this.#takeBytes(piece, at, "end");
      case "data":
        return this.#takeBytes(piece, at, "afterData");
      case "size":
        return this.#takeSize(piece, at);
      case "afterData":
        return this.#takeLineEnd(piece, at, "size");
      case "last":
        return this.#takeLineEnd(piece, at, "end");
      case "head":
      case "end":
        throw new Error("bytes after the end of the response");
    }
  }

  #takeBytes(piece: Uint8Array, at: number, next: Place): number {
    const count = Math.min(this.#left, piece.length - at);
    if (this.#status !== 200 && this.#bodyBytes < this.#mostStated)
      this.#stated.push(Buffer.from(piece.slice(at, at + count)));
    this.#bodyBytes += count;
    this.#left -= count;
    if (this.#left === 0) this.#place = next;
    return at + count;
  }

  #takeSize(piece: Uint8Array, at: number): number {
    for (let end = at; end < piece.length; end++) {
      this.#text += String.fromCharCode(piece[end] as number);
      if (piece[end] !== LINE_FEED) {
        if (this.#text.length > MOST_SIZE_CHARACTERS + 1) break;
        continue;
      }
      const digits = /^([0-9a-f]{1,13})\r\n$/i.exec(this.#text)?.[1];
      if (digits === undefined) break;
      this.#text = "";
      const size = Number.parseInt(digits, 16);
      this.#left = size;
      this.#place = size === 0 ? "last" : "data";
      return end + 1;
    }
    if (/^[0-9a-f]{0,13}\r?$/i.test(this.#text)) return piece.length;
    throw new Error(`size of a chunk ${JSON.stringify(this.#text)} is not known`);
  }

  #takeLineEnd(piece: Uint8Array, at: number, next: Place): number {
    if (piece[at] !== (this.#left === 0 ? CARRIAGE_RETURN : LINE_FEED))
      throw new Error("a chunk is longer than its size, or there are trailers");
    this.#left = this.#left === 0 ? 1 : 0;
    if (this.#left === 0) this.#place = next;
    return at + 1;
  }
}
