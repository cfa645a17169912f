import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Replaces the records of acquired leases in a folder by folders of their names, so that no process can remove them. */
export function makeUnremovable(folder: string, ending = ".json"): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter((one) => one.endsWith(ending))) {
    const path = join(folder, name);
    if (statSync(path).isDirectory() || !readFileSync(path, "utf8").startsWith("\n")) continue;
    rmSync(path);
    mkdirSync(path);
  }
}
