"""How callers are known: what the recall service reads of it from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from afterturn.consumers.recall.access.principals import RIGHTS, Right
from afterturn.schemas.scope import Dimension
from afterturn.streams.errors import BadSettings

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Those that are checked with a public key. A shared secret would let whoever checks tokens make them."""


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def _usual_rights() -> dict[str, tuple[Right, ...]]:
    return {f"afterturn:{right}": (right,) for right in RIGHTS}


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL that begins with http:// or https://")
    return text


class AccessSettings(BaseSettings):
    """Every field is read from ``AFTERTURN_RECALL_<FIELD>``. Without any of them there is no authentication.

    ``jwt_scope_claims`` says which claim fixes which dimension of the scope, ``jwt_rights`` which rights a word of the
    claim ``jwt_rights_claim`` gives; a claim may be named by a dotted path.
    """

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_RECALL_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    keys_file: Path | None = Field(default=None, description="JSON, made by afterturn keys; read again when it changes")
    keys: SecretStr | None = Field(default=None, description="the same JSON itself")
    jwt_jwks_url: Annotated[str, AfterValidator(_url)] | None = None
    jwt_key_file: Path | None = Field(default=None, description="PEM of a public key, instead of a JWKS")
    jwt_algorithms: Annotated[tuple[Algorithm, ...], NoDecode, BeforeValidator(_listed), Field(min_length=1)] = (
        "RS256",
        "ES256",
    )
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_tenant_claim: str = Field(default="tenant", min_length=1)
    jwt_scope_claims: dict[Dimension, str] = Field(default_factory=dict)
    jwt_rights_claim: str = Field(default="scope", min_length=1)
    jwt_rights: dict[str, tuple[Right, ...]] = Field(default_factory=_usual_rights)
    jwt_leeway: float = Field(default=30.0, ge=0, le=600, description="seconds that clocks may be apart")
    jwt_keys_seconds: float = Field(default=600.0, gt=0, le=86_400, description="how long a JWKS is remembered")

    @property
    def takes_tokens(self) -> bool:
        """Whether tokens of an identity provider are taken.

        Raises:
            BadSettings: what they are checked with is not said whole.
        """
        if self.jwt_jwks_url is None and self.jwt_key_file is None:
            return False
        if self.jwt_jwks_url is not None and self.jwt_key_file is not None:
            raise BadSettings("AFTERTURN_RECALL_JWT_KEY_FILE", "there is a JWKS too: give one of both")
        for name in ("jwt_issuer", "jwt_audience"):
            if not getattr(self, name):
                raise BadSettings(f"AFTERTURN_RECALL_{name.upper()}", "tokens of anyone, for anyone, would be taken")
        return True
