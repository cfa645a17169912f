import { readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** The pages with commands for users. */
export const PAGES: readonly string[] = [
  "README.md",
  "README.zh.md",
  ...readdirSync(new URL("docs", ROOT))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string): string => readFileSync(new URL(page, ROOT), "utf8");

/** A block of commands in a page. */
export interface Block {
  /** Line of its first command, from 1. */
  readonly line: number;
  readonly code: string;
  /** What this machine may not have: `needs=store` behind the language. */
  readonly needs: string | undefined;
}

export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(/^```sh(.*)\n([\s\S]*?)^```$/gm)].map(
    ({ 0: all, 1: info = "", 2: code = "", index }) => ({
      line: text.slice(0, index + all.indexOf("\n") + 1).split("\n").length,
      code,
      needs: /^ needs=([a-z]+)$/.exec(info)?.[1],
    }),
  );
}
