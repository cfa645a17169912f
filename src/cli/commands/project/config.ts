import { existsSync } from "node:fs";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, printJson } from "../../options/lake-option.js";
import { CONFIG_FILE, ENV_FILE, type ResolvedSetting } from "../../settings.js";
import { paint, table } from "../../text.js";

export function addConfig(cli: Cli): void {
  cli.program
    .command("config")
    .addOption(jsonOption())
    .notes(`
An option goes before the environment, the environment before .env, that before barlake.config.json, and that before the
default. Both files are those of the working directory: docs/settings.md. barlake init makes a config.

Examples:
  barlake config
  barlake config --json`)
    .does(async (options: { readonly json?: boolean }) => {
      if (options.json) printJson(cli.settings.map(forMachines));
      else print(cli.settings);
      return EXIT.done;
    });
}

function forMachines({ variable, field, option, value, source, isSecret }: ResolvedSetting): object {
  const shown = isSecret ? { isSet: value !== undefined } : { value: value ?? null };
  return { setting: field ?? null, variable, option: option ?? null, ...shown, source: source ?? null };
}

function print(settings: readonly ResolvedSetting[]): void {
  const rows = settings.map((one) => [
    one.field ?? "",
    valueText(one),
    one.source ?? "",
    one.variable,
    one.option ?? "",
  ]);
  const files = [CONFIG_FILE, ENV_FILE].map(
    (file) => `${file} ${existsSync(file) ? "is read" : "is not there"}`,
  );
  process.stdout.write(
    `${table(["setting", "value", "from", "variable", "option"], rows)}\n${paint("dim", files.join("; "))}\n`,
  );
}

function valueText({ value, isSecret }: ResolvedSetting): string {
  if (value === undefined) return "";
  return isSecret ? "(set, not shown)" : value;
}
