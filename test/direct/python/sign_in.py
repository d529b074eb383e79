"""Signs in by the OAuth of the official Python SDK. Usage: sign_in.py URL; prints each address that its user is to open, then what the tool "echo" says."""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata


class Kept:
    """What the SDK keeps."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main(url: str) -> None:
    arrived: asyncio.Queue = asyncio.Queue()

    async def answer(reader, writer) -> None:
        path = (await reader.readline()).decode().split(" ")[1]
        if path.startswith("/callback"):
            arrived.put_nowait({name: values[0] for name, values in parse_qs(urlsplit(path).query).items()})
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    redirect = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/callback"

    async def show(address: str) -> None:
        print("open", address, flush=True)

    async def wait() -> AuthorizationCodeResult:
        said = await arrived.get()
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(client_name="Python SDK", redirect_uris=[redirect]),
        storage=Kept(),
        redirect_handler=show,
        callback_handler=wait,
    )
    async with create_mcp_http_client(auth=provider) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client)) as client:
            said = await client.call_tool("echo", {})
            print("said", said.content[0].text, flush=True)


asyncio.run(main(sys.argv[1]))
