import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configSchema, datasetSchema } from "./json-schemas.js";
import { SCHEMA_FILES } from "./schema-files.js";

/** A part of the build: writes the JSON schemas into `dist/json-schema`. */
const folder = fileURLToPath(new URL("../../json-schema", import.meta.url));
const specSource = readFileSync(new URL("../../dataset/spec.js", import.meta.url), "utf8");
mkdirSync(folder, { recursive: true });
for (const [file, schema] of [
  [SCHEMA_FILES.config, configSchema()],
  [SCHEMA_FILES.dataset, datasetSchema(specSource)],
] as const)
  writeFileSync(`${folder}/${file}`, `${JSON.stringify(schema, null, 2)}\n`);
