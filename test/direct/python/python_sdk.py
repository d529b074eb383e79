"""A server by the official Python SDK, of both eras at one address. It asks its client in the older way only."""

import base64
import json

from mcp import MCPError
from mcp.server.extension import Extension
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from mcp.server.mcpserver.prompts.base import UserMessage

from conformance_python import CHOICES, DEFAULTS, IMAGE, SOUND, USER, announce, free_port, offer

class Unlisted(Extension):
    """Answers a call of a tool that is in no list, as the suite's scenario `server-stateless` makes one."""

    identifier = "dev.omnibus/unlisted"

    async def intercept_tool_call(self, params, ctx, call_next):
        declared = ctx.session.client_capabilities
        if params.name == "test_missing_capability" and (declared is None or declared.sampling is None):
            raise MCPError(code=-32021, message="the tool needs sampling", data={"requiredCapabilities": {"sampling": {}}})
        return await call_next(ctx)


server = MCPServer(name="python-sdk", version="1.0.0", extensions=[Unlisted()])
offer(server, Context)


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


@server.tool(description="Returns one image")
def test_image_content() -> list[ImageContent]:
    return [ImageContent(type="image", data=IMAGE, mime_type="image/png")]


@server.tool(description="Returns one sound")
def test_audio_content() -> list[AudioContent]:
    return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


@server.tool(description="Returns one embedded resource")
def test_embedded_resource() -> list[EmbeddedResource]:
    return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@server.tool(description="Returns text, image and resource")
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    return [
        TextContent(type="text", text="Multiple content types test:"),
        ImageContent(type="image", data=IMAGE, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ]


@server.tool(description="Asks the client to sample")
async def test_sampling(prompt: str, ctx: Context) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await ctx.session.create_message(messages=[question], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {getattr(answer.content, 'text', '')}"


async def ask(ctx: Context, message: str, schema: dict) -> str:
    answer = await ctx.session.elicit(message=message, requested_schema=schema, related_request_id=ctx.request_id)
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


@server.tool(description="Asks the user")
async def test_elicitation(message: str, ctx: Context) -> str:
    return await ask(ctx, message, USER)


@server.tool(description="Asks the user with defaults")
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    return await ask(ctx, "Please confirm", DEFAULTS)


@server.tool(description="Asks the user with enumerations")
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    return await ask(ctx, "Please choose", CHOICES)


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image"""
    return base64.b64decode(IMAGE)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched() -> str:
    """A text that may change"""
    return "Watched resource content"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    """A prompt with a resource in it"""
    return [
        UserMessage(content=embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        UserMessage(content=TextContent(type="text", text="Please process the embedded resource above.")),
    ]


@server.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """A prompt with an image in it"""
    return [
        UserMessage(content=ImageContent(type="image", data=IMAGE, mime_type="image/png")),
        UserMessage(content=TextContent(type="text", text="Please analyze the image above.")),
    ]


@server.completion()
async def complete(ref, argument, context) -> Completion:
    return Completion(values=[name for name in ("paris", "park", "party") if name.startswith(argument.value)])


async def acknowledge(_context, _params) -> EmptyResult:
    return EmptyResult()


# The SDK has no public way to serve these.
for method, params in (("logging/setLevel", SetLevelRequestParams), ("resources/subscribe", SubscribeRequestParams), ("resources/unsubscribe", UnsubscribeRequestParams)):
    server._lowlevel_server.add_request_handler(method, params, acknowledge)

if __name__ == "__main__":
    port = free_port()
    announce(port)
    server.run(transport="streamable-http", host="127.0.0.1", port=port)
