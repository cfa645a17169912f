import fc from "fast-check";
import { expect, test } from "vitest";
import { LakeError } from "../../src/core/errors.js";
import type { Clock } from "../../src/core/time.js";
import type { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { workFolder } from "../../src/lake/local/work-folder.js";
import { VersionGone } from "../../src/lake/log/log-files.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { type RestoreTarget, restoreTable } from "../../src/lake/maintenance/restore-table.js";
import { vacuum } from "../../src/lake/maintenance/vacuum.js";
import { folderStorage } from "../../src/lake/storage/folder-storage.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { cases } from "../sweep.js";
import {
  anyDelivery,
  type Content,
  contentOf,
  landed,
  type ModelBar,
  newestContent,
  testBars,
} from "./bar-model.js";
import { land, openSession, temporaryLake } from "./temporary-lake.js";

const HOUR = 3_600_000;
const RETENTION = 5 * HOUR;

/** The possible steps. `crashAfter`: the process ends before its n-th call of the storage in this step. */
type Step =
  | {
      readonly kind: "land";
      readonly writer: 0 | 1;
      readonly delivery: readonly ModelBar[];
      readonly crashAfter?: number;
    }
  | {
      readonly kind: "optimize";
      readonly writer: 0 | 1;
      readonly targetBytes: number;
      readonly crashAfter?: number;
    }
  | { readonly kind: "vacuum"; readonly writer: 0 | 1; readonly crashAfter?: number }
  /** `back`: how many versions before the newest one; more than there are: the table becomes empty. */
  | { readonly kind: "restore"; readonly writer: 0 | 1; readonly back: number; readonly crashAfter?: number };

const crash = { crashAfter: fc.option(fc.nat(14), { nil: undefined, freq: 3 }) };
const writer = fc.constantFrom(0 as const, 1 as const);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("land" as const), writer, delivery: anyDelivery, ...crash }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("optimize" as const),
      writer,
      targetBytes: fc.constantFrom(4000, 20_000, 1e9),
      ...crash,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("vacuum" as const), writer, ...crash }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("restore" as const), writer, back: fc.nat(5), ...crash }),
  },
) as fc.Arbitrary<Step>;

/** The expected content of the table at each version, and until when that version was the newest. */
interface ModelVersion {
  readonly content: Content;
  readonly from: number;
}

test("after any operations, every retained version reads as it was", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 14 }), async (steps) => {
      const { location: folder } = temporaryLake();
      const writers = [new Lake(folder), new Lake(folder)];
      const model: ModelVersion[] = [];
      let now = Date.now();
      let vacuumedAt = Number.NEGATIVE_INFINITY;
      for (const step of steps) {
        now += HOUR;
        const outcome = await perform(session, writers, folder, step, model, now);
        if (step.kind === "vacuum") vacuumedAt = now;
        const { version } = await new Lake(folder).snapshot(BARS_1D);
        expect(version).toBeLessThanOrEqual(model.length + (step.kind === "optimize" ? 8 : 0));
        while (model.length <= version) model.push({ content: outcome, from: now });
        expect(await newestContent(session, new Lake(folder))).toEqual(model.at(-1)?.content ?? new Map());
      }
      await checkVersions(session, folder, model, vacuumedAt);
    }),
    { numRuns: cases({ few: 8, all: 300 }) },
  );
});

const NOTHING: Content = new Map();

/** Does a step. @returns the expected content afterwards; after a crash, the content may be that of before. */
async function perform(
  session: Session,
  writers: Lake[],
  folder: string,
  step: Step,
  model: readonly ModelVersion[],
  now: number,
): Promise<Content> {
  const before = model.at(-1)?.content ?? NOTHING;
  const lake =
    step.crashAfter === undefined ? (writers[step.writer] as Lake) : mortal(folder, step.crashAfter);
  const restored = model.length - 1 - (step.kind === "restore" ? step.back : 0);
  const after =
    step.kind === "land"
      ? landed(before, step.delivery)
      : { content: step.kind === "restore" ? (model[restored]?.content ?? NOTHING) : before };
  try {
    if (step.kind === "land") {
      const { inserted, updated, unchanged } = await land(session, lake, BARS_1D, testBars(step.delivery), {
        now,
      });
      expect({ content: after.content, inserted, updated, unchanged }).toEqual(after);
    } else if (step.kind === "optimize") {
      await optimize(session, lake, BARS_1D, { runId: "model", targetBytes: step.targetBytes }, clockAt(now));
    } else if (step.kind === "restore") {
      const target: RestoreTarget = restored < 0 ? { kind: "empty" } : { kind: "version", version: restored };
      await restoreTable(lake, BARS_1D, target, { runId: `restore-${now}`, clock: clockAt(now) });
    } else await vacuum(lake, BARS_1D, { retentionMs: RETENTION, now });
  } catch (error) {
    // A vacuum has deleted files of the version.
    if (step.kind === "restore" && error instanceof VersionGone) return before;
    if (!(error instanceof Crash)) throw error;
    writers[step.writer] = new Lake(folder);
  }
  return after.content;
}

async function checkVersions(
  session: Session,
  folder: string,
  model: readonly ModelVersion[],
  vacuumedAt: number,
): Promise<void> {
  const lake = new Lake(folder);
  for (const [version, { content }] of model.entries()) {
    const replacedAt = model[version + 1]?.from ?? Number.POSITIVE_INFINITY;
    try {
      const snapshot = await lake.snapshotAt(BARS_1D, { versions: new Map([["bars_1d", version]]) });
      expect(await contentOf(session, lake, snapshot)).toEqual(content);
    } catch (error) {
      if (!(error instanceof LakeError) || !error.message.includes("can no longer be read")) throw error;
      expect(replacedAt).toBeLessThan(vacuumedAt - RETENTION);
    }
  }
}

/** The process ended here. */
class Crash extends Error {}

/** Reads of data files: they change nothing, so a process that ends before one is as one that ends before the next call. */
const READS = new Set(["urlOf", "read", "factsOf"]);

/**
 * A lake of a process that ends before its n-th call of the storage or of the work folder: this call and all later ones
 * do nothing.
 */
function mortal(folder: string, crashAfter: number): Lake {
  let calls = 0;
  const ending = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name) {
        const member = Reflect.get(target, name) as unknown;
        if (typeof member !== "function" || READS.has(String(name))) return member;
        return (...args: unknown[]): unknown => {
          if (calls++ >= crashAfter) throw new Crash();
          return member(...args);
        };
      },
    });
  return new Lake(folder, { storage: ending(folderStorage(folder)), work: ending(workFolder(folder)) });
}

function clockAt(now: number): Clock {
  return { now: () => now, sleep: () => Promise.resolve() };
}
