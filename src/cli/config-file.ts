import { z } from "zod";
import { messageOf, UsageError } from "../core/errors.js";
import { nearestName } from "../core/text-order.js";
import { pipelineFaults } from "../jobs/pipeline/pipeline-faults.js";
import { CONFIG_FIELDS, CONFIG_FILE, type ConfigField } from "./settings.js";

/** An address without what may be a secret: a password, or a query. */
const address = z
  .string()
  .refine(isAddress, "must be an http or https address without password and query")
  .meta({ format: "uri", pattern: "^https?://[^?#@]+$" });
const place = z.string().min(1);
const SHARE = "must be above 0 and at most 1";

const rules = {
  lake: place,
  url: address,
  share: z.number().gt(0, SHARE).max(1, SHARE),
  port: z.number().int().min(0).max(65_535),
  pipelines: place,
  notebooks: place,
  views: place,
  trino: address,
} satisfies Record<ConfigField, z.ZodType>;

/** The declaration of {@link CONFIG_FILE}: the file is checked against it, and its JSON schema is made from it. */
export const configRule = z.strictObject({
  $schema: z.string().optional().describe("the JSON schema of this file, for editors"),
  ...(Object.fromEntries(
    Object.entries(rules).map(([field, rule]) => {
      const { does, fallback } = CONFIG_FIELDS[field as ConfigField] as { does: string; fallback?: string };
      const text = fallback === undefined ? does : `${does} (default: ${fallback})`;
      return [field, rule.optional().meta({ ...rule.meta(), description: text })];
    }),
  ) as { [Field in ConfigField]: z.ZodOptional<(typeof rules)[Field]> }),
});

/** Names of secrets, which do not belong into a file that others see. */
const SECRET_NAME = /key|secret|token|password|credential|webhook/i;

/**
 * @returns its values as variables of the environment have them.
 * @throws {UsageError} that names each wrong field with its rule; a secret that the file has is not repeated.
 */
export function readConfig(text: string): Map<ConfigField, string> {
  const content = parseJson(text);
  const names = Object.keys(CONFIG_FIELDS);
  for (const name of Object.keys(typeof content === "object" && content !== null ? content : {})) {
    if (name === "$schema" || names.includes(name)) continue;
    if (SECRET_NAME.test(name))
      throw new UsageError(`${CONFIG_FILE}: ${name}: a secret does not belong into a file that others see`, {
        hint: "remove it there, and set BARLAKE_API_KEY (or BARLAKE_SERVE_KEYS, BARLAKE_WEBHOOK) in the environment or in .env",
      });
    const likely = nearestName(name, names);
    throw new UsageError(`${CONFIG_FILE}: ${name}: is not a setting`, {
      hint: `${likely === undefined ? "" : `did you mean ${likely}? `}the settings are ${names.join(", ")}`,
    });
  }
  const { success, data, error } = configRule.safeParse(content);
  if (!success)
    throw new UsageError(
      `${CONFIG_FILE}: ${pipelineFaults(withoutAddresses(content), error.issues).join("; ")}`,
      {
        hint: "docs/settings.md describes the settings",
      },
    );
  const { $schema: _, ...values } = data;
  return new Map(
    Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [[field as ConfigField, String(value)]],
    ),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${CONFIG_FILE} is not JSON: ${messageOf(cause)}`, {
      cause,
      hint: "JSON has no comments and no comma after the last value",
    });
  }
}

/** The content without the values of addresses: a wrong one may contain a password. */
function withoutAddresses(content: unknown): unknown {
  if (typeof content !== "object" || content === null) return content;
  return { ...content, url: null, trino: null };
}

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";
}
