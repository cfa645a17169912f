import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect } from "vitest";
import { MAIN } from "../cli/run-cli.js";

/** Members of the results of tools. */
interface ToolResult {
  readonly found: readonly { readonly kind: string; readonly name: string; readonly says: string }[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly sample: readonly (readonly unknown[])[];
  readonly truncated: string | null;
  readonly missing: readonly string[];
  readonly lake: { readonly asOf: string | null; readonly versions: Readonly<Record<string, number>> };
}

/** What a tool answered. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  /** The structured result; empty for an error. */
  readonly result: ToolResult;
}

/** A server as a process, and the official client, which compares every result with the schema of its tool. */
export interface McpProcess extends AsyncDisposable {
  readonly client: Client;
  readonly call: (name: string, parameters: object, signal?: AbortSignal) => Promise<ToolAnswer>;
  /** What the server has written to standard error. */
  readonly log: () => string;
}

/** Starts `barlake mcp` over a lake, as a client does. */
export async function startMcp(lake: string, ...options: readonly string[]): Promise<McpProcess> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp", "--lake", lake, ...options],
    stderr: "pipe",
  });
  let log = "";
  transport.stderr?.on("data", (piece: Buffer) => (log += piece.toString()));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    client,
    call: callerOf(client),
    log: () => log,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export function callerOf(client: Client): McpProcess["call"] {
  return async (name, parameters, signal) => {
    const options = { timeout: 120_000, ...(signal && { signal }) };
    const given = { name, arguments: { ...parameters } };
    const { content, structuredContent, isError = false } = await client.callTool(given, options);
    const [first] = content;
    const text = first?.type === "text" ? first.text : "";
    if (!isError) expect(JSON.parse(text)).toEqual(structuredContent);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
    return { isError, text, result: structuredContent as ToolResult };
  };
}
