"""What both Python servers of this folder offer: names and behaviours the official conformance suite calls."""

import json
import socket

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}

CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]}},
    },
}

USER = {"type": "object", "properties": {"username": {"type": "string"}, "email": {"type": "string"}}, "required": ["username", "email"]}


def offer(server, context: type) -> None:
    """What is said alike in both libraries.

    :param context: the library's class by which a tool asks for its context
    """

    @server.tool(description="Returns one text")
    def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(description="Logs three times")
    async def test_tool_with_logging(ctx: context) -> str:
        for step in ("started", "processing data", "completed"):
            await ctx.info(f"Tool execution {step}")
        return "Tool with logging executed successfully"

    @server.tool(description="Reports progress three times")
    async def test_tool_with_progress(ctx: context) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(progress=done, total=100)
        return "done"

    @server.tool(description="Fails")
    def test_error_handling() -> str:
        raise RuntimeError("This tool intentionally returns an error for testing")

    @server.tool(description="Answers without asking")
    def test_streaming_elicitation() -> str:
        return "done"

    @server.tool(description="Logs once")
    async def test_logging_tool(ctx: context) -> str:
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

    @server.prompt()
    def test_simple_prompt() -> str:
        """A prompt without arguments"""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with two arguments"""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def announce(port: int) -> None:
    """Says where the server will listen; whoever started it asks until it does."""
    print(f"listening http://127.0.0.1:{port}/mcp", flush=True)
