import { InvalidArgumentError } from "commander";
import { systemClock } from "../../client/system-clock.js";
import { splitList } from "../../market/symbol.js";
import { addKey, type KeyGrant, type KeyRecord, revokeKey } from "../../serve/keys/key-records.js";
import { ENDPOINT_GROUPS, type EndpointGroup } from "../../wire/endpoints.js";
import { type Cli, EXIT } from "../cli.js";
import { keysAt, keysOption } from "../options/keys-option.js";
import { jsonOption, printJson } from "../options/lake-option.js";
import { wholeNumber } from "../options/options.js";
import { paint, table } from "../text.js";

interface Options {
  readonly keys: string;
  readonly json?: boolean;
}

interface AddOptions extends Options {
  readonly allow?: EndpointGroup[];
  readonly universes?: string[];
  readonly rpm?: number;
  readonly maxSymbols?: number;
  readonly mayReplay?: boolean;
}

export function addKeys(cli: Cli): void {
  const keys = cli.program.command("keys").notes(EXAMPLES);
  keys
    .command("add")
    .description("make a key, and print it: it cannot be shown again")
    .argument("<name>", "whose key it is")
    .option("--allow <groups>", `what it may request: ${ENDPOINT_GROUPS.join(", ")} (default: all)`, groupsOf)
    .option(
      "--universes <ids>",
      "universes to whose members it is limited (default: every symbol)",
      splitList,
    )
    .option("--rpm <n>", "requests a minute (default: as serve says)", wholeNumber)
    .option("--max-symbols <n>", "symbols of one request (default: as serve says)", wholeNumber)
    .option("--may-replay", "it may set the time and speed of serve --replay")
    .addOptions(keysOption(), jsonOption())
    .notes(EXAMPLES)
    .does(async (name: string, options: AddOptions) => {
      const { allow, universes, rpm, maxSymbols, mayReplay } = options;
      const grant: KeyGrant = { allow, universes, requestsPerMinute: rpm, maxSymbols, mayReplay };
      const key = await addKey(keysAt(options.keys).keys, name, grant, systemClock.now());
      if (options.json) printJson({ name, key });
      else {
        process.stdout.write(`${key}\n`);
        process.stderr.write(`keep it: ${options.keys} has only its hash\n`);
      }
      return EXIT.done;
    });
  keys
    .command("list")
    .description("show the keys, without what is secret of them")
    .addOptions(keysOption(), jsonOption())
    .notes(EXAMPLES)
    .does(async (options: Options) => {
      const found = await keysAt(options.keys).keys.read();
      if (options.json) printJson(found.map(({ salt: _salt, hash: _hash, ...facts }) => facts));
      else process.stdout.write(`${found.length === 0 ? `no keys in ${options.keys}` : listText(found)}\n`);
      return EXIT.done;
    });
  keys
    .command("revoke")
    .description("end a key: a running service refuses it within seconds")
    .argument("<name>", "whose key it is")
    .addOption(keysOption())
    .notes(EXAMPLES)
    .does(async (name: string, options: Options) => {
      await revokeKey(keysAt(options.keys).keys, name, systemClock.now());
      process.stdout.write(`key ${name} is revoked\n`);
      return EXIT.done;
    });
}

const EXAMPLES = `
Examples:
  barlake keys add alice
  barlake keys add notebook --allow klines,reference --universes CN_ETF --rpm 60
  barlake keys add teacher --may-replay
  barlake keys list
  barlake keys revoke alice
  barlake keys add alice --rpm 600 --keys s3://bucket/service      for services on several machines`;

function listText(keys: readonly KeyRecord[]): string {
  return table(
    ["name", "id", "may ask for", "universes", "requests a minute", "symbols", "may replay", "made", "state"],
    keys.map((key) => [
      key.name,
      key.id,
      key.allow?.join(" ") ?? "all",
      key.universes?.join(" ") ?? "all",
      key.requestsPerMinute,
      key.maxSymbols,
      key.mayReplay === true ? "yes" : "",
      key.createdAt.slice(0, 10),
      key.revokedAt === undefined
        ? paint("green", "valid")
        : paint("red", `revoked ${key.revokedAt.slice(0, 10)}`),
    ]),
  );
}

function groupsOf(text: string): EndpointGroup[] {
  return splitList(text).map((name) => {
    const group = ENDPOINT_GROUPS.find((one) => one === name);
    if (group === undefined)
      throw new InvalidArgumentError(`${name} is not one of ${ENDPOINT_GROUPS.join(", ")}`);
    return group;
  });
}
