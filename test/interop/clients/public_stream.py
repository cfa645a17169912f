"""Follows quotes with the stream of the public client `tickflow`, sync and async, and its older form.

Arguments: the service's address, a key, a symbol to follow, and one that is not known. Prints JSON: for each client what
came after its subscriptions, and how one with a wrong key ended.
"""

import asyncio
import json
import sys
import threading
import warnings

from tickflow import AsyncTickFlow, TickFlow

url, key, symbol, unknown = sys.argv[1:]
OPTIONS = {"base_url": url, "timeout": 600, "max_retries": 0}
PATIENCE = 120
warnings.simplefilter("ignore", DeprecationWarning)


def sync_stream(of, *channel):
    """Subscribes to the symbol before it connects, and to the unknown one once quotes came."""
    quotes, errors, over = [], [], threading.Event()
    with TickFlow(api_key=key, **OPTIONS) as client:
        stream = of(client)

        @stream.on_quotes
        def take(data):
            quotes.extend(data)
            stream.subscribe(*channel, [unknown])

        @stream.on_error
        def fail(message):
            errors.append(message)
            over.set()

        stream.subscribe(*channel, [symbol])
        stream.connect(block=False)
        over.wait(PATIENCE)
        stream.close()
        stream._thread.join(PATIENCE)
    return {"quotes": quotes, "errors": errors, "ended": not stream._thread.is_alive()}


async def async_stream(of, *channel):
    quotes, errors, over = [], [], asyncio.Event()
    first = asyncio.Event()
    async with AsyncTickFlow(api_key=key, **OPTIONS) as client:
        stream = of(client)

        @stream.on_quotes
        def take(data):
            quotes.extend(data)
            first.set()

        @stream.on_error
        def fail(message):
            errors.append(message)
            over.set()

        await stream.subscribe(*channel, [symbol])
        running = asyncio.create_task(stream.connect())
        await asyncio.wait_for(first.wait(), PATIENCE)
        await stream.subscribe(*channel, [unknown])
        await asyncio.wait_for(over.wait(), PATIENCE)
        await stream.unsubscribe(*channel, [symbol])
        await stream.close()
        await asyncio.wait_for(running, PATIENCE)
    return {"quotes": quotes, "errors": errors, "ended": running.done()}


def refused():
    errors = []
    with TickFlow(api_key="wrong", **OPTIONS) as client:
        client.stream.on_error(errors.append)
        client.stream.subscribe("quotes", [symbol])
        client.stream.connect(block=True)
    return errors


def unserved():
    errors = []
    with TickFlow(api_key=key, **OPTIONS) as client:

        @client.stream.on_error
        def fail(message):
            errors.append(message)
            client.stream.close()

        client.stream.subscribe("depth", [symbol])
        client.stream.connect(block=True)
    return errors


print(
    json.dumps(
        {
            "stream": sync_stream(lambda client: client.stream, "quotes"),
            "realtime": sync_stream(lambda client: client.realtime),
            "async stream": asyncio.run(async_stream(lambda client: client.stream, "quotes")),
            "async realtime": asyncio.run(async_stream(lambda client: client.realtime)),
            "a wrong key": refused(),
            "depth": unserved(),
        }
    )
)
