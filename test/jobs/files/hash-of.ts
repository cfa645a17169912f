import { createHash } from "node:crypto";

/** The SHA-256 of a text, in hexadecimal. */
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
