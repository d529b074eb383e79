"""A server by FastMCP, of both eras at one address. It asks its client in the older way only, and says so to newer ones."""

import asyncio
import json
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image

from conformance_python import IMAGE, announce, free_port

server = FastMCP(name="fastmcp")


@dataclass
class User:
    username: str
    email: str


@server.tool(description="Returns one text")
def test_simple_text() -> str:
    return "This is a simple text response for testing."


@server.tool(description="Returns one image")
def test_image_content() -> Image:
    import base64

    return Image(data=base64.b64decode(IMAGE), format="png")


@server.tool(description="Logs three times")
async def test_tool_with_logging(ctx: Context) -> str:
    for step in ("started", "processing data", "completed"):
        await ctx.info(f"Tool execution {step}")
    return "Tool with logging executed successfully"


@server.tool(description="Reports progress three times")
async def test_tool_with_progress(ctx: Context) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(progress=done, total=100)
    return "done"


@server.tool(description="Fails")
def test_error_handling() -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


@server.tool(description="Asks the user")
async def test_elicitation(message: str, ctx: Context) -> str:
    answer = await ctx.elicit(message, response_type=User)
    return f"Elicitation completed: action={answer.action}"


@server.tool(description="Answers without asking")
def test_streaming_elicitation() -> str:
    return "done"


@server.tool(description="Logs once")
async def test_logging_tool(ctx: Context) -> str:
    await ctx.info("a message")
    return "logged"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text"""
    return "This is the content of the static text resource."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    """Data by id"""
    return json.dumps({"id": id, "templateTest": True})


@server.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments"""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments"""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


if __name__ == "__main__":
    port = free_port()
    announce(port)
    asyncio.run(server.run_http_async(show_banner=False, host="127.0.0.1", port=port, log_level="error"))
