import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { publish } from "../../../src/lake/publish.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder } from "../../lake/temporary-lake.js";

/** A lake with one bar, published with the given files as the user's own views. */
async function publishWith(files: Readonly<Record<string, string>>) {
  const [folder, session] = [temporaryFolder(), await openSession()];
  const views = join(folder, "views");
  mkdirSync(views);
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(views, name), sql);
  const faults: string[] = [];
  const onFault = ({ message }: Error): void => {
    faults.push(message.replaceAll(`${views}/`, ""));
  };
  const lake = new Lake(join(folder, "lake"), { userViews: { folder: views, onFault } });
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z", close: 10.25 }]);
  await publish(lake);
  const query = async (sql: string): Promise<unknown[]> => {
    using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    return await client.json(sql);
  };
  return { faults, query };
}

test("the user's views are built on ours, in the order that they need one another", async () => {
  const { faults, query } = await publishWith({
    "a_twice.sql": "-- needs later_one\nCREATE VIEW a_twice AS SELECT 2 * close AS twice FROM later_one;",
    "later_one.sql": "CREATE VIEW later_one AS SELECT close FROM adjusted('1d', 'forward');",
    "notes.txt": "no SQL",
  });
  expect(faults).toEqual([]);
  expect(await query("FROM a_twice")).toEqual([{ twice: 20.5 }]);
});

test("a broken one is reported with file, line and what is missing; ours and the others remain", async () => {
  const { faults, query } = await publishWith({
    "column.sql": "-- closes\nCREATE VIEW closed AS\nSELECT symbol,\n  closing\nFROM bars_1d;",
    "fine.sql": "CREATE VIEW fine AS SELECT count(*) AS n FROM bars_1d;",
    "second.sql": "CREATE VIEW one AS SELECT 1 AS a;\n\nCREATE VIEW two AS\nSELECT *\nFROM no_such_table;",
    "typo.sql": "CREATE VIEW typo AS\nSELEC 1;",
    "follows.sql": "CREATE VIEW follows AS FROM typo;",
  });
  expect(faults).toEqual([
    expect.stringMatching(/^view file column\.sql:4: Binder Error: Referenced column "closing" not found/),
    expect.stringMatching(/^view file typo\.sql:2: Parser Error: syntax error at or near "SELEC"$/),
    expect.stringMatching(/^view file second\.sql:5: Catalog Error: .*no_such_table does not exist/),
    expect.stringMatching(/^view file follows\.sql:1: Catalog Error: .*typo does not exist/),
  ]);
  expect(await query("FROM fine")).toEqual([{ n: 1n }]);
  expect(await query("SELECT close FROM bars_1d")).toEqual([{ close: 10.25 }]);
});

test("without a folder there are no views, and a path that is no folder is an error", async () => {
  const [folder, session] = [temporaryFolder(), await openSession()];
  const faults: string[] = [];
  const onFault = ({ message }: Error): void => {
    faults.push(message);
  };
  writeFileSync(join(folder, "file"), "");
  for (const views of ["none", "file"]) {
    const lake = new Lake(join(folder, `lake-${views}`), {
      userViews: { folder: join(folder, views), onFault },
    });
    await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
    await publish(lake);
  }
  expect(faults).toEqual([expect.stringContaining(`view folder ${join(folder, "file")} cannot be read`)]);
});
