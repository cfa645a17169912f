import { WireError } from "../../../core/errors.js";

/** The error for an unexpected byte. */
export function notJson(byte: number, expected: string, offset: number): WireError {
  const found =
    byte >= 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
  return new WireError("not_json", `response is not JSON: ${found} where ${expected} belongs`, offset);
}
