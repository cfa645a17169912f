import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where `test/interop/trino/trino.sh` puts Trino. */
const HOME = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "barlake", "trino-476");
const JVMS = "/usr/lib/jvm";
const JAVA = 25;
/** A start takes 20 seconds of one core; longer than this, it hangs. */
const START_MS = 240_000;

/** A Java that Trino runs on; undefined where there is none. */
function javaHome(): string | undefined {
  const named = [process.env.BARLAKE_TRINO_JAVA, process.env.JAVA_HOME];
  const found = existsSync(JVMS) ? readdirSync(JVMS).map((name) => join(JVMS, name)) : [];
  return [...named, ...found].find((home) => home !== undefined && majorVersion(home) >= JAVA);
}

function majorVersion(home: string): number {
  const release = join(home, "release");
  if (!existsSync(release) || !existsSync(join(home, "bin", "java"))) return 0;
  return Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(release, "utf8"))?.[1] ?? 0);
}

/** Why no Trino can be started here; undefined where one can. */
export function trinoIsMissing(): string | undefined {
  if (!existsSync(join(HOME, "complete"))) return "test/interop/trino/trino.sh has not fetched Trino";
  if (javaHome() === undefined) return `no Java ${JAVA}: BARLAKE_TRINO_JAVA can name one`;
  return undefined;
}

/** A Trino of one process, on this machine only. */
export interface TrinoServer extends AsyncDisposable {
  readonly url: string;
  /** Name of the catalog of Delta tables; its paths `local:///...` are below the folder of {@link startTrino}. */
  readonly catalog: string;
  readonly process: ChildProcess;
}

export interface TrinoOptions {
  /** More lines of the catalog's properties, for an object store. @default the folder alone */
  readonly properties?: readonly string[];
}

/**
 * Starts Trino on a free port.
 *
 * @param folder what `local:///` means; the metastore, the log and the configuration are in it, too.
 */
export async function startTrino(
  folder: string,
  { properties = [] }: TrinoOptions = {},
): Promise<TrinoServer> {
  const etc = join(folder, "trino-etc");
  const port = await freePort();
  mkdirSync(join(etc, "catalog"), { recursive: true });
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(etc, name), `${lines.join("\n")}\n`);
  write("config.properties", [
    "coordinator=true",
    "node-scheduler.include-coordinator=true",
    "node.environment=test",
    "node.bind-ip=127.0.0.1",
    "node.internal-address=127.0.0.1",
    `http-server.http.port=${port}`,
    `discovery.uri=http://127.0.0.1:${port}`,
    `catalog.config-dir=${join(etc, "catalog")}`,
    "query.max-memory-per-node=700MB",
    "memory.heap-headroom-per-node=300MB",
    "web-ui.enabled=false",
  ]);
  write("catalog/lake.properties", [
    "connector.name=delta_lake",
    "hive.metastore=file",
    "hive.metastore.catalog.dir=local:///trino-catalog",
    "fs.native-local.enabled=true",
    `local.location=${folder}`,
    "delta.register-table-procedure.enabled=true",
    ...properties,
  ]);
  const child = spawn(
    join(javaHome() as string, "bin", "java"),
    [
      "-Xmx1500M",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Djdk.attach.allowAttachSelf=true",
      "-Dfile.encoding=UTF-8",
      `-Dnode.data-dir=${join(folder, "trino-data")}`,
      `-Dlog.enable-console=true`,
      `-Dconfig=${join(etc, "config.properties")}`,
      "--add-modules=jdk.incubator.vector",
      "--enable-native-access=ALL-UNNAMED",
      "--sun-misc-unsafe-memory-access=allow",
      "-cp",
      join(HOME, "lib", "*"),
      "io.trino.server.TrinoServer",
    ],
    { cwd: HOME, stdio: ["ignore", "pipe", "pipe"] },
  );
  const log = join(folder, "trino.log");
  const written = createWriteStream(log);
  child.stdout?.pipe(written, { end: false });
  child.stderr?.pipe(written, { end: false });
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    written.end();
  };
  try {
    await untilStarted(url, child, log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, catalog: "lake", process: child, [Symbol.asyncDispose]: stop };
}

async function untilStarted(url: string, child: ChildProcess, log: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`Trino ended:\n${readFileSync(log, "utf8").slice(-2000)}`);
    const response = await fetch(`${url}/v1/info`).catch(() => undefined);
    if (response?.ok && (await isReady(url))) return;
    await response?.body?.cancel().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`Trino has not started:\n${readFileSync(log, "utf8").slice(-2000)}`);
}

/** A server that responds may not have the catalog, or a node, yet. */
async function isReady(url: string): Promise<boolean> {
  let response = await fetch(`${url}/v1/statement`, {
    method: "POST",
    headers: { "X-Trino-User": "test" },
    body: "SELECT count(*) FROM lake.information_schema.schemata",
  });
  for (;;) {
    if (!response.ok) return false;
    const page = (await response.json()) as { nextUri?: string; error?: unknown };
    if (page.error !== undefined) return false;
    if (page.nextUri === undefined) return true;
    response = await fetch(page.nextUri, { headers: { "X-Trino-User": "test" } });
  }
}

/** A port that nothing listens on now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return (address as { port: number }).port;
}
