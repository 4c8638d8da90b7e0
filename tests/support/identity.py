"""An identity provider for tests: keys of its own, tokens, and the address its keys are looked up at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

ISSUER, AUDIENCE = "https://login.example.com", "afterturn"


class IdentityProvider:
    """Signs tokens; ``answers`` is what its address says (None: it does not answer), ``asked`` how often it was."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(65_537, 2_048)
        self.kid = "one"
        self.other = ec.generate_private_key(ec.SECP256R1())
        self.asked = 0
        self.broken = False
        self.url = ""

    def rotate(self) -> None:
        """Sign with a new key from now on."""
        self.key, self.kid = rsa.generate_private_key(65_537, 2_048), self.kid + "+"

    def token(self, **claims: Any) -> str:
        """A token for an hour; a claim that is None is left out."""
        usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 3_600, "tenant": "acme"}
        kept = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode(kept, self.key, algorithm="RS256", headers={"kid": self.kid})

    def pem(self) -> bytes:
        """The public key."""
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def body(self) -> bytes:
        """The JWKS."""
        shown = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return orjson.dumps({"keys": [{**shown, "kid": self.kid, "use": "sig", "alg": "RS256"}]})

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        body = b"down" if self.broken else self.body()
        status = b"503 Unavailable" if self.broken else b"200 OK"
        writer.write(b"HTTP/1.1 %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()
        writer.close()


@asynccontextmanager
async def identity_provider() -> AsyncIterator[IdentityProvider]:
    """A provider whose keys can be looked up while the block runs."""
    provider = IdentityProvider()
    server = await asyncio.start_server(provider.answer, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
    async with server:
        yield provider
