/** A JSON value with what JSON.parse drops: the text of numbers, repeated keys, and the place of each (bytes). */
export type JsonTree = { readonly at: number } & (
  | { readonly kind: "object"; readonly members: readonly Member[] }
  | { readonly kind: "array"; readonly items: readonly JsonTree[] }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "string" | "boolean" | "null"; readonly value: unknown }
);

interface Member {
  readonly key: string;
  readonly keyAt: number;
  readonly value: JsonTree;
}

/** Reads a document that JSON.parse has accepted, the slow way. */
export function jsonTree(text: string): JsonTree {
  const tokens = [...text.matchAll(/[{}[\]:,]|"(?:\\.|[^"\\])*"|[^\s{}[\]:,"]+/g)];
  const encoder = new TextEncoder();
  const byteAt = (index: number): number => encoder.encode(text.slice(0, index)).length;
  let next = 0;
  const take = (): { text: string; at: number } => {
    const token = tokens[next++] as RegExpExecArray;
    return { text: token[0], at: byteAt(token.index) };
  };
  const peek = (): string | undefined => tokens[next]?.[0];
  const value = (): JsonTree => {
    const { text: token, at } = take();
    if (token === "{") {
      const members: Member[] = [];
      while (peek() !== "}") {
        if (peek() === ",") take();
        const key = take();
        take();
        members.push({ key: JSON.parse(key.text) as string, keyAt: key.at, value: value() });
      }
      take();
      return { kind: "object", members, at };
    }
    if (token === "[") {
      const items: JsonTree[] = [];
      while (peek() !== "]") {
        if (peek() === ",") take();
        items.push(value());
      }
      take();
      return { kind: "array", items, at };
    }
    if (/^[-\d]/.test(token)) return { kind: "number", text: token, at };
    const parsed = JSON.parse(token) as string | boolean | null;
    const kind = parsed === null ? "null" : (typeof parsed as "string" | "boolean");
    return { kind, value: parsed, at };
  };
  return value();
}

/** How many containers lie in each other at most. */
export function depthOf(tree: JsonTree): number {
  if (tree.kind === "object") return 1 + Math.max(0, ...tree.members.map((member) => depthOf(member.value)));
  if (tree.kind === "array") return 1 + Math.max(0, ...tree.items.map(depthOf));
  return 0;
}
