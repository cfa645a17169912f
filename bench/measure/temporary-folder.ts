import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const alive = new Set<string>();

process.once("exit", () => {
  for (const path of alive) rmSync(path, { recursive: true, force: true });
});

/** A folder that is deleted when it goes out of scope, or, at the latest, when the process exits. */
export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "barlake-bench-"));
  alive.add(path);
  return {
    path,
    [Symbol.dispose]() {
      rmSync(path, { recursive: true, force: true });
      alive.delete(path);
    },
  };
}
