import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { proveEngine } from "../prove-engine.js";
import { pythonHas, runPython } from "../python.js";
import type { Reading } from "../readings.js";

if (!pythonHas("pyspark", "delta")) process.exit(2);

const name = runPython("spark/name.py") as string;
const isEqual = await proveEngine({
  name,
  read(folder, wanted) {
    const file = join(folder, "wanted.json");
    writeFileSync(file, JSON.stringify(wanted));
    return (runPython("spark/read_tables.py", file) as { Spark: Reading[] }).Spark;
  },
  write: (lake) => runPython("spark/write_tables.py", lake) as string[],
});
process.exitCode = isEqual ? 0 : 1;
