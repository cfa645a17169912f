"""Calls every tool of a server over standard input: ask_mcp.py NODE MAIN LAKE. Prints the answers as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def ask(node: str, main: str, lake: str) -> dict[str, object]:
    server = StdioServerParameters(command=node, args=[main, "mcp", "--lake", lake])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **parameters: object) -> dict | None:
            result = await session.call_tool(tool, parameters)
            return None if result.is_error else result.structured_content

        universe = {"region": "CN"}
        definition = {"name": "mine", "universe": universe, "from": "2026-10-01", "fields": ["close"]}
        query = await call("query", sql="SELECT 1 AS one")
        return {
            "search": len((await call("search", text="dividend"))["found"]) > 0,
            "describe": len((await call("describe", name="income"))["columns"]) > 5,
            "query": query["rows"],
            "bars": "missing" in await call("bars", symbols=["600519.SH"], count=1),
            "statements": "missing" in await call("statements", table="income", symbols=["600519.SH"]),
            "dataset_plan": (await call("dataset_plan", definition=definition))["symbols"] > 0,
            "refused": await call("query", sql="ATTACH 'x.db'") is None,
        }


print(json.dumps(asyncio.run(ask(*sys.argv[1:4]))))
