import { readdirSync, readFileSync } from "node:fs";
import { basename, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** What each folder of `src` may import beyond itself. `src/index.ts` may import everything; nothing imports it. */
const BASE = ["core", "market", "schema"] as const;
const EDGES = [...BASE, "wire", "arrow", "plan", "db", "object-store", "lease"] as const;
const USES = [...EDGES, "client", "lake"] as const;
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  "object-store": ["core"],
  lease: ["core", "object-store"],
  market: ["core"],
  schema: ["core", "market"],
  wire: BASE,
  arrow: [...BASE, "wire"],
  plan: [...BASE, "wire"],
  db: [...BASE, "wire", "arrow", "plan", "lease"],
  client: EDGES,
  lake: [...EDGES, "client"],
  trino: EDGES,
  jobs: USES,
  serve: USES,
  dataset: USES,
  notebook: USES,
  sim: USES,
  api: [...USES, "jobs", "serve", "dataset"],
  ui: [...USES, "jobs", "dataset", "notebook", "api"],
  mcp: [...USES, "serve", "dataset", "ui"],
  cli: [...USES, "trino", "jobs", "serve", "dataset", "notebook", "sim", "api", "ui", "mcp"],
};

/** Packages that only one folder may import. `types`: whether `import type` is permitted elsewhere. */
const HOMES: readonly { name: RegExp; home: RegExp; types: boolean }[] = [
  { name: /^apache-arrow(\/|$)/, home: /^arrow\//, types: true },
  { name: /^@duckdb\//, home: /^(db\/|arrow\/(scan\/|result\/|duckdb-api\.ts$))/, types: false },
  { name: /^commander$/, home: /^cli\//, types: false },
  // Never as a whole: its 300 modules would slow down every command by a tenth of a second, `date-fns/format` does not.
  { name: /^date-fns$/, home: /^(?!)/, types: true },
];

/**
 * Files that use the disk of this machine, and for what. Files of a lake are read and written through its storage only:
 * a lake may be in an object store.
 */
const DISK: readonly { name: RegExp; for: string }[] = [
  { name: /^lake\/storage\/folder-/, for: "the storage of a lake in a folder" },
  { name: /^lake\/local\//, for: "unfinished work on this machine" },
  {
    name: /^lake\/segments\/(segment-file|segment-folder|build-segment|block-worker)\.(ts|js)$/,
    for: "segments of bars, a cache on this machine",
  },
  {
    name: /^lake\/sql-copy\/(attach-sql-copy|build-sql-copy)\.ts$/,
    for: "the copy for SQL, a cache on this machine",
  },
  { name: /^lake\/lake-views\.ts$/, for: "the template of views, which comes with the program" },
  { name: /^lake\/publish\.ts$/, for: "lake.duckdb, for the clients of this machine" },
  { name: /^lake\/requests\/response-spool\.ts$/, for: "responses, in the work folder" },
  {
    name: /^object-store\/access\/credential-source\.ts$/,
    for: "the user's credentials, in the files of the AWS tools",
  },
  { name: /^object-store\/put-object\.ts$/, for: "finished files that become objects" },
  { name: /^lease\/folder-leases\.ts$/, for: "leases in a folder" },
  { name: /^lease\/owner\.ts$/, for: "the ids of the machine's boot" },
  { name: /^lease\/process-folder\.ts$/, for: "temporary folders of processes that have ended" },
  {
    name: /^jobs\/pipeline\/(load-pipeline|build-pipelines)\.ts$/,
    for: "the pipelines: the user's, and those that come with it",
  },
  {
    name: /^jobs\/import\/(text\/(text-file|unzip|whole-file)|rows\/distinct-texts|plan\/import-plan)\.ts$/,
    for: "the user's files to import, and plans of them",
  },
  {
    name: /^jobs\/files\/(file-source|files-pipeline)\.ts$/,
    for: "the user's folders of files, and what this machine knows about them",
  },
  { name: /^jobs\/maintenance\/audit-lake\.ts$/, for: "audits, which come with the program" },
  { name: /^serve\/keys\/key-records\.ts$/, for: "the user's file of keys" },
  { name: /^dataset\/build-dataset\.ts$/, for: "the folder of a dataset" },
  { name: /^dataset\/dataset\.ts$/, for: "spilled panels" },
  { name: /^dataset\/formats\/(wide|long)\.ts$/, for: "files of a dataset" },
  { name: /^dataset\/store\//, for: "the folder of a dataset" },
  { name: /^dataset\/panel\/panel-batches\.ts$/, for: "spilled panels" },
  { name: /^db\/result\/read-result\.ts$/, for: "files of results" },
  { name: /^db\/reads\/checked-reads\.ts$/, for: "files that a failed COPY has written" },
  {
    name: /^db\/(session\/(session|open-database)|file-fault)\.ts$/,
    for: "the folder for spilled data, and how full its disk is",
  },
  {
    name: /^db\/session\/store-access\.ts$/,
    for: "an extension of DuckDB that the user provides",
  },
  { name: /^db\/views\/views\.ts$/, for: "the template of views, which the build makes" },
  { name: /^db\/views\/view-files\.ts$/, for: "views, which come with the program, and the user's" },
  {
    name: /^notebook\/(shipped-notebooks|page\/notebook-page)\.ts$/,
    for: "notebooks, which come with the program",
  },
  { name: /^ui\/http\/page-files\.ts$/, for: "the page, which the build makes" },
  {
    name: /^ui\/notebooks\/notebook-files\.ts$/,
    for: "the user's notebooks",
  },
  {
    name: /^ui\/results\/(result-files|stored-results)\.ts$/,
    for: "results of notebooks, until the workspace closes",
  },
  { name: /^ui\/process\/query-processes\.ts$/, for: "the folder of these results, and of spilled data" },
  { name: /^ui\/process\/started-process\.ts$/, for: "the program of the processes, which the build makes" },
  { name: /^client\/key\/key-id\.ts$/, for: "the secret of this user's ids of keys" },
  { name: /^mcp\/lake-resources\.ts$/, for: "the documentation, which comes with the program" },
  { name: /^core\/version\.ts$/, for: "the package's version" },
  { name: /^cli\//, for: "the user's files" },
];

/**
 * Files that use the machine's time or its timers, and for what. Everything else is passed a `Clock`, so that it can run
 * at the time of a test or of a replay.
 */
const TIME: readonly { name: RegExp; for: string }[] = [
  { name: /^client\/system-clock\.ts$/, for: "the machine's clock" },
  { name: /^client\/key\/key-shares\.ts$/, for: "pauses that do not keep the process alive" },
  { name: /^db\/session\/session\.ts$/, for: "repeated interrupts of a statement" },
  { name: /^lake\/segments\/segment-cache\.ts$/, for: "pauses that do not keep the process alive" },
  { name: /^lake\/storage\/folder-storage\.ts$/, for: "times of files" },
  { name: /^lease\/own-leases\.ts$/, for: "renewals of the leases of this process" },
  { name: /^serve\/http\/request-lifetime\.ts$/, for: "how long a client has read nothing" },
  { name: /^serve\/http\/request-lifetime\.ts$/, for: "the timeout of a connection" },
  { name: /^ui\/process\/memory-worker\.js$/, for: "looks at the memory of the process" },
  { name: /^ui\/browser\//, for: "what a person at the page waits for" },
  { name: /^cli\//, for: "what a person at the terminal waits for" },
];
const MACHINE_TIME =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|(?<![.\w])set(?:Timeout|Interval)\(|\bset(?:Timeout|Interval)\b[^}]*\} from "node:timers[^"]*"/g;

const NAMELESS = /^(utils?|helpers?|common|misc|shared|stuff)(-|\.|$)/;
const MAX_LINES = 500;

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  /** Whether the module is loaded only when the code that names it runs. */
  readonly isDynamic?: boolean;
}

/** Source texts by path below `src`, with `/` between folders. */
type Tree = ReadonlyMap<string, string>;

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "$1");
}

function importsOf(source: string): Import[] {
  const code = withoutComments(source);
  const found: Import[] = [];
  for (const [, typeWord, names = "", specifier = ""] of code.matchAll(
    /^(?:import|export)\s+(type\s)?\s*([\w*{][^"';]*?)\s*from\s*"([^"]+)"/gm,
  )) {
    const members = names.startsWith("{") ? names.slice(1, -1).split(",") : [""];
    const allTypes = members.every((member) => member.trim() === "" || member.trim().startsWith("type "));
    found.push({ specifier, typeOnly: typeWord !== undefined || (names.startsWith("{") && allTypes) });
  }
  for (const [, specifier = ""] of code.matchAll(/^import\s*"([^"]+)"/gm))
    found.push({ specifier, typeOnly: false });
  for (const [, specifier = ""] of code.matchAll(/\bimport\(\s*["']([^"']+)["']/g)) {
    found.push({ specifier, typeOnly: false, isDynamic: true });
  }
  return found;
}

/** The files and packages that are loaded with a file. */
function loadedWith(tree: Tree, entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const file of loaded) {
    for (const { specifier, typeOnly, isDynamic } of importsOf(tree.get(file) ?? "")) {
      if (typeOnly || isDynamic) continue;
      loaded.add(specifier.startsWith(".") ? targetOf(file, specifier) : specifier);
    }
  }
  return loaded;
}

/** The path below `src` that a relative specifier means. */
function targetOf(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
}

/** A file's name as other files import it: components of a page (`.tsx`) are imported like others. */
function moduleName(file: string): string {
  return file.replace(/\.tsx$/, ".ts");
}

function brokenLayers(file: string, { specifier }: Import): string[] {
  if (file === "index.ts" || !specifier.startsWith(".")) return [];
  const target = targetOf(file, specifier);
  const [from = "", to = ""] = [file.split("/")[0], target.split("/")[0]];
  if (from === to || MAY_IMPORT[from]?.includes(to)) return [];
  return [`${file}: ${from} may not import ${to} (${specifier})`];
}

function strayPackages(file: string, { specifier, typeOnly }: Import): string[] {
  return HOMES.filter(
    (rule) => rule.name.test(specifier) && !rule.home.test(file) && !(rule.types && typeOnly),
  ).map(() => `${file}: ${specifier} has another home`);
}

const isDiskImport = ({ specifier, typeOnly }: Import): boolean =>
  /^(node:)?fs(\/|$)/.test(specifier) && !typeOnly;

function strayDiskUse(file: string, imported: Import): string[] {
  if (!isDiskImport(imported) || DISK.some(({ name }) => name.test(file))) return [];
  return [`${file}: ${imported.specifier} is for the files that use the disk`];
}

function timesOf(source: string): readonly string[] {
  return withoutComments(source).match(MACHINE_TIME) ?? [];
}

function strayTimes(file: string, source: string): string[] {
  if (TIME.some(({ name }) => name.test(file))) return [];
  return timesOf(source).map((use) => `${file}: ${use} is the machine's: a clock is passed in`);
}

/** Files that read the environment for programs that use the library: it has addresses, keys and credentials. */
const ENVIRONMENT: readonly string[] = ["lake/places.ts", "api/service/connect.ts"];

function strayGlobals(file: string, source: string): string[] {
  if (file.startsWith("cli/") || ENVIRONMENT.includes(file)) return [];
  const names = withoutComments(source).match(
    /\bprocess\.(argv|env)\b|\bimport\s*\{[^}]*\b(argv|env)\b[^}]*\}\s*from\s*"node:process"/g,
  );
  return (names ?? []).map((name) => `${file}: ${name} belongs to cli`);
}

/** Temporary tables, views, macros and types whose name is written into the statement. */
const NAMED_TEMPORARY =
  /\bCREATE\s+(?:OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+(?:TABLE|VIEW|MACRO|TYPE)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?!\$\{)[^\s(]+/gi;

function namedTemporaries(file: string, source: string): string[] {
  return (withoutComments(source).match(NAMED_TEMPORARY) ?? []).map(
    (found) => `${file}: ${found} has a fixed name: use TempTable, whose name is unique in the process`,
  );
}

function badShapes(file: string, source: string): string[] {
  const found: string[] = [];
  if (file.split("/").some((part) => NAMELESS.test(part))) found.push(`${file}: has no real name`);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*((\.d)?\.ts|-worker\.js)$/.test(basename(file)))
    found.push(`${file}: is not in kebab-case`);
  const lines = source.trimEnd().split("\n").length;
  if (lines > MAX_LINES) found.push(`${file}: has ${lines} lines, more than ${MAX_LINES}`);
  const [folder = ""] = file.split("/");
  if (file !== "index.ts" && !Object.hasOwn(MAY_IMPORT, folder)) found.push(`${file}: ${folder} is no layer`);
  return found;
}

/** Import cycles, type-only imports included; each as the chain of its files. */
function cycles(tree: Tree): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, chain: readonly string[]): void => {
    const seenAt = chain.indexOf(file);
    if (seenAt >= 0) found.push(`cycle: ${[...chain.slice(seenAt), file].join(" -> ")}`);
    if (seenAt >= 0 || done.has(file)) return;
    for (const { specifier } of importsOf(tree.get(file) ?? "")) {
      if (specifier.startsWith(".")) visit(targetOf(file, specifier), [...chain, file]);
    }
    done.add(file);
  };
  for (const file of tree.keys()) visit(file, []);
  return found;
}

function violations(tree: Tree): string[] {
  const found = [...tree].flatMap(([file, source]) => [
    ...badShapes(file, source),
    ...strayGlobals(file, source),
    ...strayTimes(file, source),
    ...namedTemporaries(file, source),
    ...importsOf(source).flatMap((one) => [
      ...brokenLayers(file, one),
      ...strayPackages(file, one),
      ...strayDiskUse(file, one),
    ]),
  ]);
  return [...found, ...cycles(tree)];
}

/** Sources in another language, AssemblyScript, that no module imports. */
const ASSEMBLY = "wire/kernel/assembly/";

function readTree(): Tree {
  const root = fileURLToPath(new URL("../src", import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => /(\.tsx?|-worker\.js)$/.test(file) && !file.startsWith(ASSEMBLY));
  return new Map(files.map((file) => [moduleName(file), readFileSync(join(root, file), "utf8")]));
}

describe("the tree", () => {
  const tree = readTree();

  test("is read whole: every line with a specifier is an import that was understood", () => {
    expect(tree.size).toBeGreaterThan(30);
    for (const [file, source] of tree) {
      const written = [
        ...withoutComments(source).matchAll(/^(?:import|\} from|export .* from)\b.*"[^"]+";$/gm),
      ].length;
      expect(importsOf(source).length, file).toBeGreaterThanOrEqual(written);
      for (const { specifier } of importsOf(source)) {
        // Texts as JSON are no part of the tree.
        if (specifier.startsWith(".") && !specifier.endsWith(".json"))
          expect([...tree.keys()], file).toContain(targetOf(file, specifier));
      }
    }
  });

  test("obeys its layers, homes, names and sizes, and has no cycles", () => {
    expect(violations(tree)).toEqual([]);
  });

  // Its modules take longer to load than a short query; it is no part of the bundle of the commands.
  test.each([
    "cli/program.ts",
    "cli/commands/sql.ts",
    "cli/commands/ui.ts",
    "cli/commands/import.ts",
    "cli/commands/lake/status.ts",
    "cli/commands/pipelines/run.ts",
    "ui/process/query-process.ts",
  ])("%s starts without Arrow", (entry) => {
    expect([...loadedWith(tree, entry)]).not.toContain("apache-arrow");
    expect([...tree.keys()]).toContain(entry);
  });

  test("uses the disk and the machine's time in each place that is listed for it", () => {
    const isUsed = (name: RegExp, uses: (source: string) => boolean): boolean =>
      [...tree].some(([file, source]) => name.test(file) && uses(source));
    const usesDisk = (source: string): boolean => importsOf(source).some(isDiskImport);
    const usesTime = (source: string): boolean => timesOf(source).length > 0;
    expect(DISK.filter(({ name }) => !isUsed(name, usesDisk))).toEqual([]);
    expect(TIME.filter(({ name }) => !isUsed(name, usesTime))).toEqual([]);
  });
});

describe("the rules find", () => {
  const cases: Readonly<Record<string, readonly [Record<string, string>, string]>> = {
    "an import upward": [
      { "core/a.ts": 'import { b } from "../lake/b.js";\n', "lake/b.ts": "" },
      "core may not import lake",
    ],
    "a type-only import upward": [
      { "wire/a.ts": 'import type { B } from "../arrow/b.js";\n', "arrow/b.ts": "" },
      "wire may not import arrow",
    ],
    "an import over several lines": [
      { "plan/a.ts": 'import {\n  b,\n  type C,\n} from "../db/b.js";\n', "db/b.ts": "" },
      "plan may not import db",
    ],
    "a re-export upward": [
      { "core/a.ts": 'export * from "../wire/b.js";\n', "wire/b.ts": "" },
      "core may not import wire",
    ],
    "a dynamic import upward": [
      { "core/a.ts": 'const b = await import("../wire/b.js");\n', "wire/b.ts": "" },
      "core may not import wire",
    ],
    "an import of a neighbour": [
      { "serve/a.ts": 'import { b } from "../jobs/b.js";\n', "jobs/b.ts": "" },
      "serve may not import jobs",
    ],
    "an import of the index": [
      { "cli/a.ts": 'import { b } from "../index.js";\n', "index.ts": "" },
      "cli may not import index.ts",
    ],
    "Arrow outside its home": [
      { "lake/a.ts": 'import { Schema, type Data } from "apache-arrow";\n' },
      "apache-arrow has another home",
    ],
    "DuckDB outside its home": [
      { "arrow/a.ts": 'import type { X } from "@duckdb/node-api";\n' },
      "@duckdb/node-api has another home",
    ],
    "all of date-fns": [{ "cli/a.ts": 'import { format } from "date-fns";\n' }, "date-fns has another home"],
    "a file of the lake that is read past its storage": [
      { "lake/log/a.ts": 'import { readFile } from "node:fs/promises";\n' },
      "lake/log/a.ts: node:fs/promises is for the files that use the disk",
    ],
    "a file system that is imported when it is needed": [
      { "jobs/a.ts": 'const fs = await import("node:fs");\n' },
      "node:fs is for the files that use the disk",
    ],
    "the machine's time": [
      { "jobs/a.ts": "export const a = Date.now();\n" },
      "jobs/a.ts: Date.now is the machine's",
    ],
    "the current date": [{ "plan/a.ts": "export const a = new Date();\n" }, "new Date() is the machine's"],
    "a timer": [
      { "serve/a.ts": "export const a = setTimeout(() => {}, 1);\n" },
      "setTimeout( is the machine's",
    ],
    "a timer that is imported": [
      { "serve/a.ts": 'import { setTimeout as delay } from "node:timers/promises";\n' },
      "a clock is passed in",
    ],
    "a temporary table with a fixed name": [
      { "lake/a.ts": 'export const a = "CREATE OR REPLACE TEMP TABLE rows AS SELECT 1";\n' },
      "TEMP TABLE rows has a fixed name",
    ],
    "a temporary type with a fixed name": [
      { "lake/a.ts": 'export const a = "create temporary type kind AS ENUM (1)";\n' },
      "type kind has a fixed name",
    ],
    "argv outside cli": [
      { "jobs/a.ts": "export const a = process.argv[2];\n" },
      "process.argv belongs to cli",
    ],
    "env outside cli": [{ "jobs/a.ts": 'import { env } from "node:process";\n' }, "belongs to cli"],
    "a cycle of types": [
      {
        "core/a.ts": 'import type { B } from "./b.js";\n',
        "core/b.ts": 'import type { A } from "./a.js";\n',
      },
      "cycle: core/a.ts -> core/b.ts -> core/a.ts",
    ],
    "a nameless file": [{ "core/utils.ts": "" }, "core/utils.ts: has no real name"],
    "a nameless folder": [{ "core/helpers/a.ts": "" }, "has no real name"],
    "a file that has become two": [{ "core/a.ts": "\nconst a = 1;".repeat(501) }, "more than 500"],
    "a folder that is no layer": [{ "extra/a.ts": "" }, "extra is no layer"],
  };
  test.each(Object.entries(cases))("%s", (_, [files, message]) => {
    expect(violations(new Map(Object.entries(files))).join("\n")).toContain(message);
  });

  test("nothing in what is permitted", () => {
    const files = {
      "index.ts": 'export { a } from "./cli/a.js";\n',
      "cli/a.ts":
        'import { Command } from "commander";\nimport { b } from "../db/b.js";\nexport const a = process.env.A;\n',
      "db/b.ts": 'import type { RecordBatch } from "apache-arrow";\nimport { x } from "@duckdb/node-api";\n',
      "lake/a.ts": "export const a = (name: string) => `CREATE TEMP TABLE ${name} (x INTEGER)`;\n",
      "core/c.ts": '/** Reads process.env. */\n// import { b } from "../db/b.js";\n',
    };
    expect(violations(new Map(Object.entries(files)))).toEqual([]);
  });
});
