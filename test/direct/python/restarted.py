"""A client by the official Python SDK with one open session. Usage: restarted.py URL TOOL; calls the tool for each line of its input, and prints the text of the answer."""

import asyncio
import sys

from mcp.client.client import Client


async def main(url: str, tool: str) -> None:
    async with Client(url, mode="legacy") as client:
        while await asyncio.to_thread(sys.stdin.readline):
            answer = await client.call_tool(tool, {})
            print(answer.content[0].text, flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2]))
