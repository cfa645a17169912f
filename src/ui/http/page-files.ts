import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { BarlakeError } from "../../core/errors.js";

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The build output of `browser/`; the relative path is the same from src and from dist. */
const BUILT = new URL("../../../dist/ui/page/", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** All files that the page loads, by name. No other file of the disk is ever sent. */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  try {
    for (const name of await readdir(BUILT)) {
      const type = TYPES[extname(name)];
      if (type !== undefined) files.set(name, { type, bytes: await readFile(new URL(name, BUILT)) });
    }
  } catch (cause) {
    throw new BarlakeError("workspace: its page is missing", { hint: "npm run build makes it", cause });
  }
  return files;
}

/** The HTML document of every view. The script reads the view from the address. */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>barlake</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/app.css">
<script type="module" src="/assets/app.js"></script>
</head>
<body><div id="app"></div><noscript>The workspace needs JavaScript.</noscript></body>
</html>
`;
