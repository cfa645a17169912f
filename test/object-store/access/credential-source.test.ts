import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { credentialSource, parseSections } from "../../../src/object-store/access/credential-source.js";
import { findEndpoint } from "../../../src/object-store/access/store-endpoint.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const CREDENTIALS = `
# a comment
[default]
aws_access_key_id = DEFAULTKEY
aws_secret_access_key = default/secret+= ; a comment

[ work ]
AWS_ACCESS_KEY_ID=WORKKEY
aws_secret_access_key=worksecret
aws_session_token = worktoken==
`;
const CONFIG = `[default]
region = eu-central-1
[profile work]
region = ap-east-1
services = stores
s3 =
  max_concurrent_requests = 20
[services stores]
s3 =
  endpoint_url = https://store.example:9000/
[profile elsewhere]
endpoint_url = http://10.0.0.7:7480
[profile hosted]
endpoint_url = https://oss.example
s3 =
    addressing_style = virtual
[profile by-path]
region = us-east-2
s3 =
    addressing_style = path
[profile empty]
[sso-session x]
`;

function home(): { HOME: string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, ".aws"));
  writeFileSync(join(folder, ".aws", "credentials"), CREDENTIALS);
  writeFileSync(join(folder, ".aws", "config"), CONFIG.replaceAll("\n", "\r\n"));
  return { HOME: folder };
}

const keysOf = async (env: Record<string, string>): Promise<(string | undefined)[]> => {
  const found = await credentialSource(env, () => 0).current();
  return [found.accessKeyId, found.secretAccessKey, found.sessionToken];
};

test("credentials come from the environment, else from the profile", async () => {
  const files = home();
  expect(await keysOf(files)).toEqual(["DEFAULTKEY", "default/secret+=", undefined]);
  expect(await keysOf({ ...files, AWS_PROFILE: "work" })).toEqual(["WORKKEY", "worksecret", "worktoken=="]);
  const ofEnvironment = { AWS_ACCESS_KEY_ID: "A", AWS_SECRET_ACCESS_KEY: "B", AWS_SESSION_TOKEN: "C" };
  expect(await keysOf({ ...files, AWS_PROFILE: "work", ...ofEnvironment })).toEqual(["A", "B", "C"]);
  const moved = {
    AWS_SHARED_CREDENTIALS_FILE: join(files.HOME, ".aws", "credentials"),
    HOME: temporaryFolder(),
  };
  expect((await keysOf(moved))[0]).toBe("DEFAULTKEY");
});

test("what a profile's process prints is asked for again shortly before it expires, once", async () => {
  const folder = temporaryFolder();
  const program = join(folder, "print.cjs");
  const expiresAt = Date.now() + 3_600_000;
  writeFileSync(
    program,
    `const fs = require("node:fs");
     const log = ${JSON.stringify(join(folder, "log"))};
     fs.appendFileSync(log, "x");
     const turn = fs.readFileSync(log, "utf8").length;
     console.log(JSON.stringify({ Version: 1, AccessKeyId: "KEY" + turn, SecretAccessKey: "s", SessionToken: "t",
       Expiration: new Date(${expiresAt} + (turn - 1) * 3600000).toISOString() }));`,
  );
  const config = join(folder, "config");
  writeFileSync(config, `[profile proc]\ncredential_process = "${process.execPath}" "${program}"\n`);
  let now = Date.now();
  const env = { HOME: folder, AWS_PROFILE: "proc", AWS_CONFIG_FILE: config };
  const source = credentialSource(env, () => now);
  const [first, same] = await Promise.all([source.current(), source.current()]);
  expect(first).toEqual({ accessKeyId: "KEY1", secretAccessKey: "s", sessionToken: "t", expiresAt });
  expect(same).toBe(first);
  now = expiresAt - 301_000;
  expect(await source.current()).toBe(first);
  now = expiresAt - 299_000;
  const later = await Promise.all([source.current(), source.current()]);
  expect(later.map(({ accessKeyId }) => accessKeyId)).toEqual(["KEY2", "KEY2"]);
  source.renew();
  expect((await source.current()).accessKeyId).toBe("KEY3");
});

test("where no credentials are found, the error says what to set", async () => {
  // The SDK would ask the network whether this is a machine of AWS.
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  onTestFinished(() => void vi.unstubAllEnvs());
  const folder = temporaryFolder();
  const config = join(folder, "config");
  writeFileSync(config, "[profile empty]\nregion = eu-west-1\n");
  const env = { HOME: folder, AWS_PROFILE: "empty", AWS_CONFIG_FILE: config };
  const error = await credentialSource(env, () => 0)
    .current()
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining('no credentials for the object store in profile "empty"'),
    hint: expect.stringContaining("AWS_ACCESS_KEY_ID"),
  });
});

test.each([
  [{ AWS_ACCESS_KEY_ID: "A" }, "only one is set"],
  [{ AWS_PROFILE: "none" }, 'profile "none" is neither in'],
])("what is not complete is refused: %j", async (env, message) => {
  await expect(keysOf({ ...home(), ...env })).rejects.toThrow(message);
});

test.each([
  [{}, "https://s3.eu-central-1.amazonaws.com", "eu-central-1", false],
  [{ AWS_DEFAULT_REGION: "us-west-2" }, "https://s3.us-west-2.amazonaws.com", "us-west-2", false],
  [{ AWS_REGION: "cn-north-1" }, "https://s3.cn-north-1.amazonaws.com.cn", "cn-north-1", false],
  [{ AWS_PROFILE: "work" }, "https://store.example:9000", "ap-east-1", true],
  [{ AWS_PROFILE: "elsewhere" }, "http://10.0.0.7:7480", "us-east-1", true],
  [{ AWS_PROFILE: "hosted" }, "https://oss.example", "us-east-1", false],
  [{ AWS_PROFILE: "by-path" }, "https://s3.us-east-2.amazonaws.com", "us-east-2", true],
  [
    { AWS_PROFILE: "work", AWS_ENDPOINT_URL: "http://a:1", AWS_ENDPOINT_URL_S3: "http://b:2/s3/" },
    "http://b:2/s3",
    "ap-east-1",
    true,
  ],
  [
    { AWS_PROFILE: "work", AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true" },
    "https://s3.ap-east-1.amazonaws.com",
    "ap-east-1",
    false,
  ],
])("endpoint and region are those of the AWS tools: %j", async (env, url, region, isPathStyle) => {
  expect(await findEndpoint({ ...home(), ...env }, "bucket")).toEqual({ url, region, isPathStyle });
});

test("a bucket whose name the certificate of AWS does not cover is in the path", async () => {
  expect((await findEndpoint(home(), "my.bucket")).isPathStyle).toBe(true);
});

test.each([
  [{ AWS_PROFILE: "empty" }, "region of the object store is not known"],
  [{ AWS_REGION: "eu central" }, "is not the name of a region"],
  [{ AWS_ENDPOINT_URL_S3: "http://me:secret@host" }, "must not contain a user or password"],
  [{ AWS_ENDPOINT_URL_S3: "://me:secret@host" }, "is not a URL"],
  [{ AWS_ENDPOINT_URL_S3: "ftp://host" }, "is not a plain address"],
])("an endpoint that cannot be used is refused: %j", async (env, message) => {
  const error = await findEndpoint({ ...home(), ...env }, "bucket").catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ message: expect.stringContaining(message), hint: expect.anything() });
  expect(JSON.stringify(error)).not.toContain("secret");
});

test("sections are read as the AWS tools read them", () => {
  const sections = parseSections(
    "\uFEFF[a]\nx=1\n; y=2\nno setting\n[b ] # c\nX = a = b  # c\n  y = 2\n[a]\nz=#3\n",
  );
  expect([...sections].map(([name, settings]) => [name, Object.fromEntries(settings)])).toEqual([
    ["a", { x: "1", z: "#3" }],
    ["b", { x: "a = b", "x.y": "2" }],
  ]);
});
