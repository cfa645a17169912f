import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  findStore as findProgram,
  STORES,
  type StoreName,
  type StoreServer,
  startStore as startIn,
  variableOf,
} from "../../src/cli/demo/demo-lakes.js";
import { noteOnFailure } from "../failure-notes.js";
import { pickFrom } from "../sweep.js";

export { STORES, type StoreName, type StoreServer };

const REPORTED = new Set<StoreName>();

/** The path of a store's program. Says so once where there is none. */
export function findStore(name: StoreName): string | undefined {
  const found = findProgram(name, process.env);
  const isUnwanted = process.env[variableOf(name)] === "";
  if (found === undefined && !isUnwanted && !REPORTED.has(name)) {
    REPORTED.add(name);
    console.warn(
      `no ${name} here: its tests are skipped (test/interop/stores.sh builds it, ${variableOf(name)} names one)`,
    );
  }
  return found;
}

/** A store that tests can start. */
export interface StoreHere {
  readonly name: StoreName;
  readonly program: string;
}

/** The stores whose programs are here: `count` of them, other ones after another commit. */
export function storesHere(count: number): StoreHere[] {
  const here = STORES.flatMap((name) => {
    const program = findStore(name);
    return program === undefined ? [] : [{ name, program }];
  });
  return pickFrom(here, count);
}

/**
 * Starts a store in a temporary folder, with one empty bucket. The caller must stop it; its files are deleted then. What it
 * has printed is shown with each test and hook of the file that fails.
 */
export async function startStore({ name, program }: StoreHere): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), `barlake-${name}-`));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const server = await startIn(name, program, { folder, bucket: "lakes", isQuiet: false });
    noteOnFailure({ subject: `${name} has printed`, text: server.printed });
    return {
      ...server,
      async stop() {
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
