import { JsonScanner } from "../../../../src/wire/decode/json/json-scanner.js";
import type { JsonLimits, JsonSink, NumberRuns } from "../../../../src/wire/decode/json/json-sink.js";

interface Open {
  readonly value: Map<string, unknown> | unknown[];
  readonly key: string;
}

/** Builds the value of a document, as JSON.parse would, from what a scanner reports; repeated keys are an error. */
export function readJson(chunks: readonly Uint8Array[], limits?: JsonLimits): unknown {
  const open: Open[] = [];
  let key = "";
  let root: unknown;
  const put = (value: unknown): void => {
    const container = open.at(-1)?.value;
    if (container === undefined) root = value;
    else if (Array.isArray(container)) container.push(value);
    else container.set(key, value);
  };
  const begin = (value: Open["value"]): void => {
    open.push({ value, key });
  };
  const close = (): void => {
    const { value, key: outer } = open.pop() as Open;
    key = outer;
    put(Array.isArray(value) ? value : Object.fromEntries(value));
  };
  const runs: NumberRuns = {
    type: "double",
    capacity: Number.MAX_SAFE_INTEGER,
    push: (values) => values.forEach(put),
  };
  const sink: JsonSink = {
    startObject: () => begin(new Map()),
    endObject: close,
    startArray: () => {
      begin([]);
      return runs;
    },
    endArray: close,
    key: (text) => {
      key = text;
    },
    number: (token) => put(token.toDouble()),
    string: (read) => put(read()),
    literal: put,
  };
  const scanner = new JsonScanner(sink, limits);
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return root;
}
