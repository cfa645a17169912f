import { decimalAt } from "../../../src/wire/decode/decimal-run.js";
import { type JsonLimits, JsonScanner, type JsonSink } from "../../../src/wire/decode/json-scanner.js";

interface Open {
  readonly value: Map<string, unknown> | unknown[];
  readonly key: string;
}

/** Builds the value of a document, as JSON.parse would, out of what a scanner tells; repeated keys are an error. */
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
  const sink: JsonSink = {
    startObject: () => begin(new Map()),
    endObject: close,
    startArray: () => begin([]),
    endArray: close,
    key: (text) => {
      key = text;
    },
    decimals: (run) => {
      for (let k = 0; k < run.length; k++) put(decimalAt(run, k));
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
