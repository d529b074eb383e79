"""A server by FastMCP, of both eras at one address. It asks its client in the older way only, and says so to newer ones."""

import asyncio
import base64
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image

from conformance_python import IMAGE, announce, free_port, offer

server = FastMCP(name="fastmcp")
offer(server, Context)


@dataclass
class User:
    username: str
    email: str


@server.tool(description="Returns one image")
def test_image_content() -> Image:
    return Image(data=base64.b64decode(IMAGE), format="png")


@server.tool(description="Asks the user")
async def test_elicitation(message: str, ctx: Context) -> str:
    answer = await ctx.elicit(message, response_type=User)
    return f"Elicitation completed: action={answer.action}"


if __name__ == "__main__":
    port = free_port()
    announce(port)
    asyncio.run(server.run_http_async(show_banner=False, host="127.0.0.1", port=port, log_level="error"))
