/** Options of the library whose flag has another name. */
const FLAGS: Readonly<Record<string, string>> = {
  'existing: "append"': "--append",
  'existing: "replace"': "--replace",
  "roundVolumes: true": "--round-volumes",
  "waits: true": "--wait",
};

/** Options of the library that errors name, and that a command has as the flag of the same name. */
const SAME =
  "amountUnit|barLabel|catalog|dateFormat|decimal|encoding|exchange|location|map|metricsPort|output|period|port|prices|schema|server|skip|source|symbols?|values|volumeUnit|zone";

/** `name`, `name: "value"`, or `name: { key: "value" }`, in backquotes. */
const OPTION = new RegExp(
  `\`(?:(${Object.keys(FLAGS).join("|")})|(${SAME})(?:: "([^"\`]*)"|: \\{ (\\w+): "([^"\`]*)" \\})?)\``,
  "g",
);

/**
 * A text of the library as the command line says it. The library names its options in backquotes, as a program gives
 * them: `` `volumeUnit: "lots"` `` is `--volume-unit lots` here.
 */
export function inOptionWords(text: string): string {
  return text.replace(OPTION, (_, other, name = "", value, key, keyed) => {
    if (other !== undefined) return FLAGS[other] as string;
    const flag = `--${name.replace(/[A-Z]/g, (letter: string) => `-${letter.toLowerCase()}`)}`;
    if (key !== undefined) return `${flag} ${key}=${keyed}`;
    return value === undefined ? flag : `${flag} ${value}`;
  });
}
