import { text } from "node:stream/consumers";
import { buildDataset } from "../src/dataset/build-dataset.js";
import { defineDataset } from "../src/dataset/spec.js";
import { Lake } from "../src/lake/lake.js";
import { plainDataset } from "./baselines/plain-dataset.js";
import { type DatasetOrder, FIELDS, LAYOUTS } from "./lakes/dataset-layout.js";

/** The program that builds a dataset of all daily bars, with barlake or with one row object per bar. */
console.log("ready");
const { folder, layout, output, by, versions, append } = JSON.parse(
  await text(process.stdin),
) as DatasetOrder;
const lake = new Lake(folder);
if (by === "row objects") await plainDataset(lake, layout, output);
else
  await buildDataset(lake, specOf(), {
    pointInTime: versions === undefined ? {} : { versions: new Map(Object.entries(versions)) },
    existing: append === true ? "append" : "refuse",
  });
console.log("done", (process.resourceUsage().maxRSS * 1024) / 1e6);

function specOf() {
  return defineDataset({
    name: "bench",
    universe: { region: "CN" },
    from: "2000-01-01",
    fields: [...FIELDS],
    masks: [],
    format: LAYOUTS[layout],
    output,
  });
}
