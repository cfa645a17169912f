import { createHash, randomUUID } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { contentHash } from "../../src/lake/files/content-hash.js";
import { hashInName } from "../../src/lake/files/data-file.js";
import { Lake } from "../../src/lake/lake.js";
import { readPieces } from "../../src/lake/local/local-files.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Folder for lakes that are the same in every run. */
const CACHE = join(ROOT, "node_modules", ".cache", "barlake-lakes");
/** What a lake depends on: the program, and the modules that fill the lakes of the tests. */
const SOURCES = [
  "src",
  "sql/views",
  "package-lock.json",
  "test/lake/fixture-lake.ts",
  "test/jobs/scripted-market.ts",
  "test/serve/served-lake.ts",
  "test/faults/service",
];
/** Lakes of other sources are deleted when they have not been used for this time. */
const KEPT_MS = 3 * 86_400_000;

let folderOfSources: string | undefined;

/**
 * Fills a lake for a test, or copies one that an earlier test or run has filled in the same way. Data files are linked,
 * because they never change: a test that damages a lake must say so.
 *
 * @param filledBy the test's module that fills it: its text counts as a source.
 * @param name everything that determines the content in addition to the sources.
 * @param isDamaged whether the test changes data files in their place: it gets copies of them.
 */
export async function fixtureLake(
  folder: string,
  {
    filledBy,
    name,
    isDamaged = false,
  }: { readonly filledBy: string; readonly name: string; readonly isDamaged?: boolean },
  fill: (lake: Lake) => Promise<void>,
): Promise<Lake> {
  const key = createHash("sha256")
    .update(readFileSync(fileURLToPath(filledBy)))
    .update(name)
    .digest("hex");
  const kept = join((folderOfSources ??= cacheFolder()), key.slice(0, 16));
  if (!existsSync(kept)) {
    const draft = `${kept}.${process.pid}-${randomUUID()}`;
    await fill(new Lake(draft, { hasDatabase: false }));
    try {
      renameSync(draft, kept);
    } catch {
      // Another process has filled the same lake.
      rmSync(draft, { recursive: true, force: true });
    }
  }
  await linkTree(kept, folder, isDamaged ? copyFileSync : linkOrCopy);
  return new Lake(folder, { hasDatabase: false });
}

/** Data files that this process has verified. */
const whole = new Set<string>();

/** @throws if a test has changed a file that other lakes share. */
async function expectWhole(path: string): Promise<void> {
  if (whole.has(path)) return;
  if ((await contentHash(await readPieces(path))).hash !== hashInName(path))
    throw new Error(`a test has changed ${path}, which lakes of other tests share: delete ${CACHE}`);
  whole.add(path);
}

async function linkTree(
  from: string,
  to: string,
  link: (source: string, target: string) => void,
): Promise<void> {
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length));
    mkdirSync(dirname(target), { recursive: true });
    if (entry.name.endsWith(".parquet")) {
      await expectWhole(source);
      link(source, target);
    } else copyFileSync(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    copyFileSync(source, target);
  }
}

/** The folder for lakes of the current sources. */
function cacheFolder(): string {
  const hash = createHash("sha256");
  for (const path of SOURCES.flatMap(filesOf))
    hash.update(path.slice(ROOT.length)).update(readFileSync(path));
  const folder = join(CACHE, hash.digest("hex").slice(0, 16));
  mkdirSync(folder, { recursive: true });
  utimesSync(folder, new Date(), new Date());
  for (const name of readdirSync(CACHE)) {
    const other = join(CACHE, name);
    const usedAt = statSync(other, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (usedAt < Date.now() - KEPT_MS) removeOnce(other);
  }
  return folder;
}

/** Deletes a folder, unless another process does so at the same time: only one of them can rename it. */
function removeOnce(folder: string): void {
  const renamed = `${folder}.${process.pid}-${randomUUID()}`;
  try {
    // Under its new name it is as new as if it was used now, so that no other process deletes it, too.
    utimesSync(folder, new Date(), new Date());
    renameSync(folder, renamed);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  rmSync(renamed, { recursive: true, force: true });
}

function filesOf(name: string): string[] {
  const path = join(ROOT, name);
  if (!statSync(path).isDirectory()) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .sort();
}
