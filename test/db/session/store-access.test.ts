import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import type { StoreAccess, StoreSecret } from "../../../src/db/session/store-access.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { findHttpfs } from "../../object-store/httpfs.js";

const SECRET: StoreSecret = {
  keyId: "first-id",
  key: "it's a key",
  sessionToken: "token-1",
  region: "eu-west-1",
  endpoint: "127.0.0.1:1",
  isPathStyle: true,
  isTls: false,
};

function accessOf(scope: string, secret: () => Promise<StoreSecret>): StoreAccess {
  return { scope, extensions: findHttpfs(), secret };
}

async function secretsIn(
  session: Session,
): Promise<{ name: string; scope: string[]; secret_string: string }[]> {
  return session.json("SELECT name, scope, secret_string FROM duckdb_secrets() ORDER BY name");
}

test.skipIf(findHttpfs() === undefined)(
  "a session has a secret for each store, replaces it when the credentials change, and never shows the key",
  async () => {
    let current = SECRET;
    const other = { ...SECRET, keyId: "other-id" };
    const stores = [
      accessOf("s3://bucket/lake/", async () => current),
      accessOf("s3://bucket/other/", async () => other),
    ];
    using session = await Session.open({ stores });
    const found = await secretsIn(session);
    expect(found.map(({ scope }) => scope)).toEqual([["s3://bucket/lake/"], ["s3://bucket/other/"]]);
    expect(found[0]?.secret_string).toMatch(/key_id=first-id;region=eu-west-1;/);
    current = { ...SECRET, keyId: "second-id" };
    using sibling = await session.sibling();
    const after = await secretsIn(sibling);
    expect(after.map(({ secret_string }) => /key_id=([^;]*)/.exec(secret_string)?.[1])).toEqual([
      "second-id",
      "other-id",
    ]);
    expect(JSON.stringify([found, after])).not.toMatch(/it's a key|token-1/);
    await expect(session.run("FROM duckdb_secrets(redact = false)")).rejects.toThrow(/unredacted/);
  },
);

test("a folder without the extension is an error that names the version and both ways", async () => {
  const access = { scope: "s3://bucket/lake/", extensions: temporaryFolder(), secret: async () => SECRET };
  await expect(Session.open({ stores: [access] })).rejects.toMatchObject({
    message: expect.stringMatching(/^BARLAKE_DUCKDB_EXTENSIONS: there is no .*httpfs\.duckdb_extension$/),
    hint: expect.stringMatching(/DuckDB v\d+\.\d+\.\d+ .*unset/),
  });
});
