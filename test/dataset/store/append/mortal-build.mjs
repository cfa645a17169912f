/**
 * A process that builds a dataset with the built program, and is killed before one of the changes that it makes to the
 * file system. It reports how many changes there were, and which of them were the two renames. The order is an argument: `{ lake, definition, options, kill }`.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { lake, definition, options, kill } = JSON.parse(process.argv[2]);
let changes = 0;
let renames = [];
function mortal(place, name) {
  const change = place[name];
  place[name] = (...parameters) => {
    if (name === "renameSync") renames.push(changes);
    if (changes++ === kill) process.kill(process.pid, "SIGKILL");
    return change(...parameters);
  };
}
for (const name of ["mkdir", "rename", "rm", "link", "writeFile", "open"]) mortal(fs.promises, name);
for (const name of ["mkdirSync", "renameSync", "writeFileSync", "unlinkSync", "rmdirSync"]) mortal(fs, name);
syncBuiltinESMExports();

const { buildDataset } = await import("../../../../dist/dataset/build-dataset.js");
const { defineDataset } = await import("../../../../dist/dataset/spec.js");
const { Lake } = await import("../../../../dist/lake/lake.js");
changes = 0;
renames = [];
await buildDataset(new Lake(lake, { hasDatabase: false }), defineDataset(definition), options);
console.log(JSON.stringify({ changes, renames }));
