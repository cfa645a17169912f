import fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock } from "../../../../src/core/time.js";
import { Lake } from "../../../../src/lake/lake.js";
import { unlanded } from "../../../../src/lake/land/upsert.js";
import { writeCheckpoint } from "../../../../src/lake/log/checkpoint.js";
import { VersionGone } from "../../../../src/lake/log/log-files.js";
import { checkTable } from "../../../../src/lake/maintenance/check/check-table.js";
import { optimize } from "../../../../src/lake/maintenance/optimize.js";
import { restoreTable } from "../../../../src/lake/maintenance/restore-table.js";
import { vacuum } from "../../../../src/lake/maintenance/vacuum.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { cases } from "../../../sweep.js";
import { anyDelivery, type Content, contentOf, landed, newestContent, testBars } from "../../bar-model.js";
import { land, openSession, temporaryLake } from "../../temporary-lake.js";

const HOUR = 3_600_000;
const RETENTION = 6 * HOUR;

const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("land" as const), delivery: anyDelivery }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("restore" as const), back: fc.nat(6) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("time" as const), hours: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("optimize" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("vacuum" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("checkpoint" as const) }) },
);

/** A version of the table, as it must be. */
interface ModelVersion {
  readonly content: Content;
  /** The responses that have landed and were not undone. */
  readonly responses: ReadonlySet<string>;
  readonly at: number;
}

const BEFORE: ModelVersion = { content: new Map(), responses: new Set(), at: Number.NEGATIVE_INFINITY };

test("after any commits, restores, vacuums and checkpoints the table, its versions and its responses are the model's", async () => {
  const session = await openSession();
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 16 }), async (steps) => {
      const lake = temporaryLake();
      const model: ModelVersion[] = [];
      const names: string[] = [];
      let now = Date.now();
      let vacuumedAt = Number.NEGATIVE_INFINITY;
      const restore = async (
        target: ModelVersion,
        given: number | { asOf: number },
      ): Promise<ModelVersion> => {
        const before = model.at(-1) ?? BEFORE;
        const to =
          typeof given === "object"
            ? ({ kind: "time", ...given } as const)
            : given < 0
              ? ({ kind: "empty" } as const)
              : ({ kind: "version", version: given } as const);
        try {
          const report = await restoreTable(lake, BARS_1D, to, { runId: `r-${now}`, clock: clockAt(now) });
          expect(report.rowsAfter).toBe(target.content.size);
          expect(report.rowsBefore).toBe(before.content.size);
          if (report.version === undefined) return before;
          expect(report.from).toBe(model.length - 1);
          return target;
        } catch (error) {
          if (!(error instanceof VersionGone)) throw error;
          expect(vacuumedAt).toBeGreaterThan(0);
          return before;
        }
      };
      for (const step of steps) {
        now += HOUR;
        const before = model.at(-1) ?? BEFORE;
        let after = before;
        if (step.kind === "land") {
          names.push(`response-${now}`);
          const options = { now, responses: [`response-${now}`] };
          await land(session, lake, BARS_1D, testBars(step.delivery), options);
          const { content } = landed(before.content, step.delivery);
          after = { ...before, content, responses: new Set([...before.responses, `response-${now}`]) };
        } else if (step.kind === "restore") {
          const version = Math.max(-1, model.length - 1 - step.back);
          if (model.length > 0) after = await restore(model[version] ?? BEFORE, version);
        } else if (step.kind === "time") {
          const asOf = now - step.hours * HOUR - 1;
          after = await restore(model.findLast(({ at }) => at <= asOf) ?? BEFORE, { asOf });
        } else if (step.kind === "optimize")
          await optimize(session, lake, BARS_1D, { runId: "model" }, clockAt(now));
        else if (step.kind === "vacuum") {
          await vacuum(lake, BARS_1D, { retentionMs: RETENTION, now });
          vacuumedAt = now;
        } else if (model.length > 0) await writeCheckpoint(lake, await lake.snapshot(BARS_1D), now);
        const newest = await new Lake(lake.location).snapshot(BARS_1D);
        while (model.length <= newest.version) model.push({ ...after, at: now });
        const last = model.at(-1) ?? BEFORE;
        expect(await contentOf(session, lake, newest)).toEqual(last.content);
        expect(unlanded(newest, names)).toEqual(names.filter((name) => !last.responses.has(name)));
      }
      expect(await newestContent(session, lake)).toEqual((model.at(-1) ?? BEFORE).content);
      expect((await checkTable(lake, BARS_1D, { deep: true })).findings).toEqual([]);
      for (const [version, { content }] of model.entries()) {
        const replacedAt = model[version + 1]?.at ?? Number.POSITIVE_INFINITY;
        try {
          const versions = new Map([["bars_1d", version]]);
          expect(await contentOf(session, lake, await lake.snapshotAt(BARS_1D, { versions }))).toEqual(
            content,
          );
        } catch (error) {
          if (!(error instanceof VersionGone)) throw error;
          expect(replacedAt).toBeLessThan(vacuumedAt - RETENTION);
        }
      }
    }),
    { numRuns: cases({ few: 8, all: 200 }) },
  );
});

function clockAt(now: number): Clock {
  return { now: () => now, sleep: () => Promise.resolve() };
}
