"""Tokens of an identity provider: signature, issuer, audience and times are checked before a claim is believed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jwt
from jwt import PyJWK

from afterturn.consumers.recall.access.claims import principal_of
from afterturn.consumers.recall.access.principals import Principal, Unauthenticated
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.streams.errors import BadSettings

FindKey = Callable[[str | None], Awaitable[Any]]
"""Gives the public key of a key id (None: the token names none)."""
_KEY_FILE = "AFTERTURN_RECALL_JWT_KEY_FILE"


class Tokens:
    """Checks tokens with the keys that ``find`` gives."""

    def __init__(self, settings: AccessSettings, find: FindKey) -> None:
        self._settings = settings
        self._find = find

    async def identify(self, token: str) -> Principal:
        """Whom a token stands for.

        Raises:
            Unauthenticated: it is none of ours, not for us, or has expired.
            Retry: its key could not be looked up.
        """
        settings = self._settings
        try:
            head = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise Unauthenticated("this is neither an API key nor a token") from None
        if head.get("alg") not in settings.jwt_algorithms:
            raise Unauthenticated("the token is signed in a way that is not taken here")
        kid = head.get("kid")
        key = await self._find(kid if isinstance(kid, str) else None)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(settings.jwt_algorithms),
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=settings.jwt_leeway,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the token has expired") from None
        except (jwt.PyJWTError, TypeError, ValueError) as error:  # a key of another kind than the token's way to sign
            raise Unauthenticated(f"the token does not hold ({type(error).__name__})") from None
        return principal_of(claims, settings)


def key_of_file(path: Path) -> FindKey:
    """The one key of a PEM file, whatever key a token names.

    Raises:
        BadSettings: the file holds no public key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise BadSettings(_KEY_FILE, f"{path}: {error.strerror}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadSettings(_KEY_FILE, f"{path} holds no public key in PEM") from None

    async def find(_: str | None) -> Any:  # noqa: ANN401 - a key of one of cryptography's kinds
        return key

    return find


def usable(keys: list[PyJWK]) -> dict[str | None, Any]:
    """Keys by their ids, and under None the only one where there is but one."""
    signing = [key for key in keys if key.public_key_use in {"sig", None}]
    found: dict[str | None, Any] = {key.key_id: key for key in signing if key.key_id}
    if len(signing) == 1:
        found[None] = signing[0]
    return found
