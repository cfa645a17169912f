/** Name of the file with the digests of all other files of a dataset, in the format of `sha256sum -c`. */
export const DIGESTS = "files.sha256";

/** Hexadecimal digits of a digest at the beginning of a line of {@link DIGESTS}; two spaces follow, then the path. */
export const DIGEST_DIGITS = 64;
/** Where the path begins in a line. */
export const PATH_AT = DIGEST_DIGITS + 2;

/** The line of a file, with the end of the line. */
export function digestLine(path: string, sha256: string): string {
  return `${sha256}  ${path}\n`;
}

/** Reads the text of {@link DIGESTS}: the digest of each file, by its path. */
export function digestsIn(text: string): Map<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => [line.slice(PATH_AT), line.slice(0, DIGEST_DIGITS)]));
}

/** The digest of one file in the text of {@link DIGESTS}, as {@link digestsIn} has it, without reading the other lines. */
export function digestIn(text: string, path: string): string | undefined {
  const at = text.indexOf(`  ${path}\n`);
  return at < DIGEST_DIGITS ? undefined : text.slice(at - DIGEST_DIGITS, at);
}
