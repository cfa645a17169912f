/** A response as it is on the wire. */
export interface HttpReply {
  readonly status: number;
  readonly body: string;
  /** Whether all of it is there, and it has a body. */
  readonly isWhole: boolean;
}

/** Reads the responses that a connection brought, one after the other. @throws {Error} for what is no HTTP. */
export function readReplies(bytes: Buffer): HttpReply[] {
  const replies: HttpReply[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) return replies;
    const [first = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not HTTP: ${first.slice(0, 80)}`);
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    at = end + 4;
    if (status < 200) continue;
    const { body, next, isWhole } = headers.has("transfer-encoding")
      ? chunkedBody(bytes, at)
      : plainBody(bytes, at, Number(headers.get("content-length") ?? 0));
    replies.push({ status, body: body.toString(), isWhole });
    at = next;
  }
  return replies;
}

interface Body {
  readonly body: Buffer;
  readonly next: number;
  readonly isWhole: boolean;
}

function plainBody(bytes: Buffer, at: number, length: number): Body {
  const body = bytes.subarray(at, at + length);
  return { body, next: at + length, isWhole: body.length === length && length > 0 };
}

function chunkedBody(bytes: Buffer, start: number): Body {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const end = bytes.indexOf("\r\n", at);
    const length = end < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, end), 16);
    const isWhole = length === 0;
    if (isWhole || Number.isNaN(length) || end + 4 + length > bytes.length)
      return { body: Buffer.concat(parts), next: isWhole ? end + 4 : bytes.length, isWhole };
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 4 + length;
  }
}
