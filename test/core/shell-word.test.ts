import { expect, test } from "vitest";
import { shellWord } from "../../src/core/text-order.js";

test.each([
  ["s3://bucket/lake", "s3://bucket/lake"],
  ["a-b_c.d:8,9+1=2%@", "a-b_c.d:8,9+1=2%@"],
  ["my data", "'my data'"],
  ["it's", '"it\'s"'],
  ["it's $HOME", "'it'\\''s $HOME'"],
  ["$HOME", "'$HOME'"],
  ["", "''"],
])("%j is the word %s", (text, word) => {
  expect(shellWord(text)).toBe(word);
});
