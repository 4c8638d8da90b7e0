"""Where the store is, from the environment."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_URL = "http://127.0.0.1:6333"
DEFAULT_ALIAS = "memories"


def _url(text: str) -> str:
    if not re.match(r"https?://.", text):
        raise ValueError("must be a URL that begins with http:// or https://")
    return text


class StoreSettings(BaseSettings):
    """How Qdrant is reached; every field is read from ``QDRANT_<FIELD>``.

    ``timeout`` bounds one call, in seconds, from sending to the last byte of its answer. ``alias`` is the name the
    collection is read and written under.
    """

    model_config = SettingsConfigDict(env_prefix="QDRANT_", frozen=True, extra="ignore", hide_input_in_errors=True)

    url: Annotated[str, AfterValidator(_url)] = DEFAULT_URL
    api_key: SecretStr | None = None
    timeout: Annotated[float, Field(gt=0, le=600)] = 10.0
    alias: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,255}$")] = DEFAULT_ALIAS

    @property
    def address(self) -> str:
        """The URL as it may be shown: without a name and password in it."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
