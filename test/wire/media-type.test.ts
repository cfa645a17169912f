import { describe, expect, test } from "vitest";
import { ARROW_STREAM, acceptedFormat } from "../../src/wire/media-type.js";

describe("an accept header", () => {
  test.each([
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/*", "json"],
    ["application/json", "json"],
    ["text/html", "json"],
    ["image/png;q=2, ;;,", "json"],
    [ARROW_STREAM, "arrow"],
    [ARROW_STREAM.toUpperCase(), "arrow"],
    [`${ARROW_STREAM}, */*`, "arrow"],
    [`${ARROW_STREAM}, application/json`, "arrow"],
    [`${ARROW_STREAM};codecs=zstd;q=0.8, application/json;q=0.5`, "arrow"],
    [`application/json, ${ARROW_STREAM};q=0.9`, "json"],
    [`${ARROW_STREAM};q=0`, "json"],
    [`${ARROW_STREAM};q=none`, "json"],
    [`application/vnd.apache.arrow.file`, "json"],
  ])("%s asks for %s", (header, format) => expect(acceptedFormat(header)).toBe(format));
});
