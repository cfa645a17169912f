import { expect, test } from "vitest";
import { readCheckpoint, writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { commit } from "../../../src/lake/log/commit.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import type { Action } from "../../../src/lake/log/delta-actions.js";
import { listLog } from "../../../src/lake/log/log-files.js";
import { Draft, emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { T0, temporaryLake } from "../temporary-lake.js";

test("a checkpoint may have any number of actions of one kind", async () => {
  const lake = temporaryLake();
  const first = (await commit(
    lake,
    emptySnapshot(BARS_1D),
    schemaActions(emptySnapshot(BARS_1D), BARS_1D.columns, T0),
    T0,
  )) as Snapshot;
  const draft = new Draft(first);
  const txns = Array.from({ length: 150_000 }, (_, n): Action => {
    return { txn: { appId: `run/${n}`, version: 0, lastUpdated: T0 } };
  });
  draft.apply({ version: 0, actions: txns, digest: undefined });
  await writeCheckpoint(lake, draft.finish(), T0);
  const [checkpoint] = (await listLog(lake.storage, "bars_1d")).checkpoints;
  const { actions } = await readCheckpoint(lake.storage, "bars_1d", checkpoint ?? { version: 0, paths: [] });
  expect(actions).toHaveLength(150_002);
});
