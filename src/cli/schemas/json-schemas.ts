import { z } from "zod";
import { specRule } from "../../dataset/spec.js";
import { configRule } from "../settings/config-file.js";

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
