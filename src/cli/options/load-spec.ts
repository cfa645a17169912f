import { readdirSync, readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, UsageError } from "../../core/errors.js";
import { type DatasetDefinition, type DatasetSpec, defineDataset } from "../../dataset/spec.js";
import { importDefinition } from "../../jobs/pipeline/load-pipeline.js";

const OWN_SPECS = fileURLToPath(new URL("../../../pipelines/datasets", import.meta.url));

/** Names of the built-in specs, each with its purpose. */
export function shippedSpecs(): { readonly name: string; readonly doc: string }[] {
  return readdirSync(OWN_SPECS)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => {
      const { name, doc = "" } = readJson(join(OWN_SPECS, file)) as DatasetDefinition;
      return { name, doc };
    });
}

/**
 * Loads a spec: a JSON, TypeScript or JavaScript file by its path, or a built-in one by its name.
 *
 * @param changes values from the command line that replace the spec's.
 * @throws {UsageError} if there is none, or its definition breaks a rule.
 */
export async function loadSpec(
  nameOrPath: string,
  changes: Partial<DatasetDefinition>,
): Promise<DatasetSpec> {
  const isPath =
    /\.([cm]?[jt]s|json)$/.test(nameOrPath) || isAbsolute(nameOrPath) || nameOrPath.includes("/");
  const names = shippedSpecs().map(({ name }) => name);
  if (!isPath && !names.includes(nameOrPath)) {
    throw new UsageError(`dataset "${nameOrPath}" is not known`, {
      hint: `use one of ${names.join(", ")}, or the path of a spec such as ./mine.json`,
    });
  }
  const file = isPath ? resolve(nameOrPath) : join(OWN_SPECS, `${nameOrPath}.json`);
  const definition = file.endsWith(".json")
    ? withoutSchema(readJson(file))
    : await importDefinition("dataset", file);
  return defineDataset({ ...(definition as DatasetDefinition), ...changes });
}

/** The content without the name of its JSON schema, which is for editors. */
function withoutSchema(content: unknown): unknown {
  if (typeof content !== "object" || content === null) return content;
  const { $schema: _, ...definition } = content as { readonly $schema?: unknown };
  return definition;
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(`dataset file ${file} cannot be read`, {
      cause,
      hint: "give the path of a JSON or TypeScript file",
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`dataset file ${file} is not JSON: ${messageOf(cause)}`, { cause });
  }
}
