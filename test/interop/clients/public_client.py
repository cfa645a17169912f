"""Calls the methods of the public client `tickflow`, sync and async, against a service.

Arguments: the service's address, a key, a JSON object of method -> {"args": [...], "kwargs": {...}}. Prints JSON: method ->
[what the sync client gave, what the async client gave], and under "errors" and "frames" what failed calls and frames are.
"""

import asyncio
import inspect
import json
import sys

from tickflow import AsyncTickFlow, TickFlow

url, key, methods = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
OPTIONS = {"base_url": url, "timeout": 600, "max_retries": 0}


def method_of(client, name):
    resource, method = name.split(".")
    return getattr(getattr(client, resource), method)


def plain(value):
    """A frame as its columns' types and rows, and everything else as it is."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if hasattr(value, "dtypes"):
        return {
            "types": {str(name): str(dtype) for name, dtype in value.dtypes.items()},
            "rows": json.loads(value.reset_index().to_json(orient="records", double_precision=15)),
        }
    return value


def failure(error):
    return {"error": type(error).__name__, "code": getattr(error, "code", None)}


def call(client, name, args, kwargs):
    try:
        return plain(method_of(client, name)(*args, **kwargs))
    except Exception as error:
        return failure(error)


async def call_async(client, name, args, kwargs):
    try:
        value = method_of(client, name)(*args, **kwargs)
        return plain(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        return failure(error)


async def main():
    results = {}
    with TickFlow(api_key=key, **OPTIONS) as client:
        async with AsyncTickFlow(api_key=key, **OPTIONS) as other:
            for label, spec in methods.items():
                name, args, kwargs = spec["method"], spec.get("args", []), spec.get("kwargs", {})
                results[label] = [
                    call(client, name, args, kwargs),
                    await call_async(other, name, args, kwargs),
                ]
    with TickFlow(api_key="not a key", **OPTIONS) as client:
        results["a wrong key"] = [call(client, "exchanges.list", [], {})] * 2
    public = sorted(
        f"{resource}.{method}"
        for resource in (
            "klines",
            "quotes",
            "depth",
            "instruments",
            "exchanges",
            "universes",
            "financials",
            "stream",
            "realtime",
        )
        for method in dir(getattr(client, resource))
        if not method.startswith("_")
    )
    print(json.dumps({"methods": public, "results": results}))


asyncio.run(main())
