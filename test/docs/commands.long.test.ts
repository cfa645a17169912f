import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAIN, runCli } from "../cli/run-cli.js";
import { blocksOf, PAGES, textOf } from "./doc-commands.js";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** Pages whose commands another test runs: it writes the one, compares the output of the other; README.zh.md has those of README.md. */
const ELSEWHERE = ["docs/service-examples.md", "docs/backtests.md", "README.zh.md"];

/**
 * `npx` of the pages: `npx barlake` is the built command. What listens goes on in the background until the page has ended,
 * and the next command begins when it has written an address or its next times.
 */
const NPX = `#!/usr/bin/env bash
program=(node "$MAIN")
[ "$1" = barlake ] || program=(node --import tsx)
shift
waits=
case " $* " in
  *" --help"* | *" --once"*) ;;
  *"/live/"*) waits=1 ;;
  " ui "*) set -- "$@" --port 0 --no-open; waits=1 ;;
  " serve "* | " schedule "* | *" --watch "*) waits=1 ;;
esac
[ -n "$waits" ] || exec "\${program[@]}" "$@"
log=$(mktemp)
"\${program[@]}" "$@" > "$log" 2>&1 &
pid=$!
echo "$pid" >> "$PIDS"
until grep -qE 'http://|"next"|wrote|written| UTC' "$log"; do
  kill -0 "$pid" 2> /dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.1
done
`;

/** \`npm run demo\` is what the tests have run before, for all pages. */
const NPM = "#!/usr/bin/env bash\nexit 0\n";

let place: string;

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "barlake-pages-"));
  mkdirSync(join(place, "bin"));
  for (const [name, code] of [
    ["npx", NPX],
    ["npm", NPM],
  ] as const) {
    writeFileSync(join(place, "bin", name), code);
    chmodSync(join(place, "bin", name), 0o755);
  }
  const { code, stderr } = await runCli(["demo"], { cwd: place });
  if (code !== 0) throw new Error(`the demo ended with ${code}: ${stderr}`);
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The ports that a page names, each as a free one, so that pages and others do not meet. */
async function withFreePorts(script: string): Promise<{ script: string; port: number }> {
  const ports = new Map<string, number>([["8080", await freePort()]]);
  for (const [, port = ""] of script.matchAll(/(?:127\.0\.0\.1:|port )(\d{4})\b/g))
    if (!ports.has(port)) ports.set(port, await freePort());
  const replaced = script.replace(
    /(127\.0\.0\.1:|port )(\d{4})\b/g,
    (_, before, port) => `${before}${ports.get(port)}`,
  );
  return { script: replaced, port: ports.get("8080") as number };
}

/** Runs the commands of a page one after the other in a folder with the demo's lakes. @returns exit code and output. */
async function runPage(name: string, commands: string): Promise<{ code: number | null; output: string }> {
  const cwd = join(place, name.replaceAll(/\W/g, "-"));
  mkdirSync(cwd);
  cpSync(join(place, "data"), join(cwd, "data"), { recursive: true });
  // A program that is a link does not run as the main one.
  cpSync(join(PROJECT, "docs/examples"), join(cwd, "docs/examples"), { recursive: true });
  for (const folder of ["dist", "node_modules", "package.json"])
    symlinkSync(join(PROJECT, folder), join(cwd, folder));
  const { script, port } = await withFreePorts(commands);
  const pids = join(cwd, "pids");
  writeFileSync(pids, "");
  const child = spawn("bash", ["-c", `set -eu -o pipefail\n${script}`], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: `${join(place, "bin")}:${process.env.PATH}`,
      MAIN,
      PIDS: pids,
      BARLAKE_PORT: String(port),
      XDG_CONFIG_HOME: join(cwd, "config"),
      XDG_STATE_HOME: join(cwd, "state"),
      TSX_TSCONFIG_PATH: join(PROJECT, "test/docs/tsconfig.installed.json"),
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => {
      output += piece;
    });
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  for (const pid of readFileSync(pids, "utf8").split("\n").filter(Boolean))
    try {
      process.kill(Number(pid));
    } catch {
      // It has ended.
    }
  rmSync(cwd, { recursive: true, force: true });
  return { code, output };
}

const RUN = PAGES.filter(
  (page) => !ELSEWHERE.includes(page) && blocksOf(page).some(({ needs }) => needs === undefined),
);

test.each(RUN)("the commands of %s run, one after the other", async (page) => {
  const commands = blocksOf(page)
    .filter(({ needs }) => needs === undefined)
    .map(({ code, line }) => `echo "${page}:${line}" >&2\n${code}`)
    .join("");
  const { code, output } = await runPage(page, commands);
  expect(code, output.slice(-3000)).toBe(0);
});

test("the examples of docs/sql.md are statements that the demo's lake answers", async () => {
  const statements = [...textOf("docs/sql.md").matchAll(/^\|.*\| `(from .*)` \|$/gm)].map(
    ([, sql = ""]) => sql,
  );
  expect(statements.length).toBeGreaterThan(20);
  for (const statement of statements) {
    const { code, stderr } = await runCli(["sql", "--lake", join(place, "data/demo/lake"), statement]);
    expect(code, `${statement}: ${stderr}`).toBe(0);
  }
});
