"""A client by the official Python SDK. Usage: client.py URL legacy|auto; prints what it heard as one line of JSON."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.types import ElicitResult


async def accept(_context, _params) -> ElicitResult:
    return ElicitResult(action="accept", content={"username": "a person", "email": "a@example.com"})


async def main(url: str, mode: str) -> None:
    async with Client(url, mode=mode, elicitation_callback=accept) as client:
        tools = await client.list_tools()
        said = await client.call_tool("test_simple_text", {})
        asked = await client.call_tool("test_elicitation", {"message": "Who are you?"})
        read = await client.read_resource("test://static-text")
        prompt = await client.get_prompt("test_simple_prompt")
        # Its server closes the stream before it answers, and the client asks for the rest.
        try:
            resumed = (await client.call_tool("test_reconnection", {})).content[0].text
        except Exception:
            resumed = ""
        heard = {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "said": said.content[0].text,
            "asked": asked.content[0].text,
            "read": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
            "resumed": resumed,
        }
    print(json.dumps(heard))


asyncio.run(main(sys.argv[1], sys.argv[2]))
