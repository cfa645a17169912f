import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { specRule } from "../../dataset/spec.js";
import { configRule } from "../config-file.js";
import { SCHEMA_FILES } from "../settings.js";

type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON schema (draft 2020-12) of `barlake.config.json`. */
export function configSchema(): JsonSchema {
  return { ...z.toJSONSchema(configRule, { io: "input" }), title: "Settings of barlake" };
}

/**
 * The JSON schema (draft 2020-12) of a dataset's spec as a file. Rules that concern several fields are not in it.
 *
 * @param source text of the compiled declaration, whose comments describe the fields.
 */
export function datasetSchema(source: string): JsonSchema {
  const rule = specRule.extend({ $schema: z.string().optional() });
  const schema = z.toJSONSchema(rule, { io: "input" });
  const comments = commentsOf(source);
  const properties = Object.entries(schema.properties ?? {}).map(([field, one]) => {
    const description =
      field === "$schema" ? "the JSON schema of this file, for editors" : comments.get(field);
    return [field, description === undefined ? one : { description, ...(one as object) }];
  });
  return { ...schema, properties: Object.fromEntries(properties), title: "A dataset of barlake" };
}

/** The comments of the spec's fields in the compiled declaration: what editors show for TypeScript, they show for JSON. */
function commentsOf(source: string): Map<string, string> {
  const [, body = ""] = /\bspecRule = z\.strictObject\(\{\n([\s\S]*?)\n\}\);/.exec(source) ?? [];
  const found = body.matchAll(/^ {4}\/\*\* (.*?) \*\/\n {4}(\w+)[:,]/gm);
  return new Map(
    [...found].map(([, text = "", field = ""]) => [field, text.replace("@default", "Default:")]),
  );
}

/** A part of the build: writes the JSON schemas into `dist/json-schema`. */
const folder = fileURLToPath(new URL("../../json-schema", import.meta.url));
const specSource = readFileSync(new URL("../../dataset/spec.js", import.meta.url), "utf8");
mkdirSync(folder, { recursive: true });
for (const [file, schema] of [
  [SCHEMA_FILES.config, configSchema()],
  [SCHEMA_FILES.dataset, datasetSchema(specSource)],
] as const)
  writeFileSync(`${folder}/${file}`, `${JSON.stringify(schema, null, 2)}\n`);
