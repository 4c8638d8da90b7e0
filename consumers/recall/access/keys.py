"""API keys: made once, kept as the hash of their secret, compared in constant time. Pure but for randomness."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import orjson
from pydantic import BeforeValidator, Field, model_validator

from afterturn.consumers.recall.access.principals import Principal, Right, Unauthenticated
from afterturn.schemas.codec import parse
from afterturn.schemas.parts import Identifiers
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import Identifier, Model, Time, as_tuple

PREFIX = "aft_"
SECRET_BYTES = 32
"""Of randomness: beyond guessing, so a plain hash keeps it as well as a slow one would."""
_NOBODY = "0" * 64
_UNKNOWN = "this key is not known here, or its secret is another"
_Rights = Annotated[tuple[Right, ...], Field(min_length=1, max_length=16), BeforeValidator(as_tuple)]


class KeyRecord(Model):
    """A key as it is kept: whose, for what, and the SHA-256 of its secret.

    Either tenants are named, or all are meant.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    name: Identifier | None = None
    rights: _Rights
    tenants: Identifiers = ()
    all_tenants: bool = False
    scope: Scope = Scope()
    created_at: Time | None = None
    expires_at: Time | None = None

    @model_validator(mode="after")
    def _for_someone(self) -> KeyRecord:
        if bool(self.tenants) == self.all_tenants:
            raise ValueError("give either tenants or all_tenants")
        return self

    def principal(self) -> Principal:
        """Whom this key stands for."""
        tenants = None if self.all_tenants else self.tenants
        return Principal(f"key:{self.id}", frozenset(self.rights), tenants, self.scope)


class KeyFile(Model):
    """All keys there are."""

    keys: Annotated[tuple[KeyRecord, ...], Field(max_length=100_000), BeforeValidator(as_tuple)] = ()

    @model_validator(mode="after")
    def _each_once(self) -> KeyFile:
        if len({key.id for key in self.keys}) != len(self.keys):
            raise ValueError("two keys have the same id")
        return self

    def by_id(self) -> dict[str, KeyRecord]:
        """The keys by their ids."""
        return {key.id: key for key in self.keys}

    def body(self) -> bytes:
        """The file's content."""
        return orjson.dumps(self.model_dump(mode="json", exclude_none=True), option=orjson.OPT_INDENT_2) + b"\n"


def read_keys(content: bytes) -> KeyFile:
    """The keys of a file's content; an empty one has none.

    Raises:
        ContractError: it is no such content; its values are left out.
    """
    return parse(KeyFile, content) if content.strip() else KeyFile()


def new_secret() -> tuple[str, str, str]:
    """A new key's id, the key as its owner gets it, and the hash that is kept of it."""
    id_, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
    return id_, f"{PREFIX}{id_}_{secret}", hash_of(secret)


def hash_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def identify(keys: Mapping[str, KeyRecord], text: str, now: datetime) -> Principal:
    """Whom a key stands for.

    An unknown id takes as long as a wrong secret.

    Raises:
        Unauthenticated: it is none of these keys, or has expired.
    """
    id_, _, secret = text.removeprefix(PREFIX).partition("_")
    record = keys.get(id_)
    same = hmac.compare_digest(hash_of(secret), record.sha256 if record else _NOBODY)
    if record is None or not same:
        raise Unauthenticated(_UNKNOWN)
    if record.expires_at is not None and record.expires_at <= now:
        raise Unauthenticated("this key has expired")
    return record.principal()
