"""Tokens of an identity provider: nothing in one is believed before its signature, its issuer and its times hold."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from support.identity import AUDIENCE, ISSUER, IdentityProvider, identity_provider

from afterturn.consumers.recall.access.jwks import Jwks, KeysAway
from afterturn.consumers.recall.access.principals import Unauthenticated
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.consumers.recall.access.tokens import Tokens, key_of_file
from afterturn.streams.errors import BadSettings

PROVIDER = IdentityProvider()


def settings(**fields: Any) -> AccessSettings:
    return AccessSettings.model_validate({"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE} | fields)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_bytes(PROVIDER.pem())
    return path


async def test_claims_are_mapped_to_tenant_scope_and_rights(key_file: Path) -> None:
    """Row 7: scope from the principal, per request."""
    chosen = settings(
        jwt_tenant_claim="org.id",
        jwt_scope_claims={"user": "sub", "workspace": "https://example.com/space"},
        jwt_rights_claim="roles",
        jwt_rights={"agent": ("read", "write"), "boss": ("admin",)},
    )
    tokens = Tokens(chosen, key_of_file(key_file))
    claims = {"org": {"id": ["acme", "other"]}, "https://example.com/space": 7, "roles": ["agent", "stranger", 5]}
    principal = await tokens.identify(PROVIDER.token(tenant=None, **claims))
    assert principal.tenants == ("acme", "other")
    assert principal.scope.pairs() == [("user", "ada"), ("workspace", "7")]
    assert principal.rights == {"read", "write"}


async def test_rights_are_words_of_the_scope_claim_unless_said(key_file: Path) -> None:
    tokens = Tokens(settings(), key_of_file(key_file))
    assert (await tokens.identify(PROVIDER.token())).rights == frozenset()
    principal = await tokens.identify(PROVIDER.token(scope="openid afterturn:read afterturn:erase read"))
    assert principal.rights == {"read", "erase"}


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": time.time() - 60},
        {"exp": None},
        {"nbf": time.time() + 3_600},
        {"iss": "https://elsewhere.example.com"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"tenant": None},
        {"tenant": []},
        {"tenant": ""},
        {"tenant": True},
        {"tenant": {"$ne": ""}},
        {"tenant": ["acme", None]},
        {"tenant": "a\u0007b"},
    ],
)
async def test_a_token_without_what_is_asked_of_it_is_refused(key_file: Path, claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        await Tokens(settings(), key_of_file(key_file)).identify(PROVIDER.token(**claims))


async def test_a_mapped_scope_that_is_missing_lets_nobody_in(key_file: Path) -> None:
    """Row 6: who should be bound to a user and names none is not let in unbound."""
    tokens = Tokens(settings(jwt_scope_claims={"user": "email"}), key_of_file(key_file))
    with pytest.raises(Unauthenticated, match="user of the scope"):
        await tokens.identify(PROVIDER.token())


async def test_signatures_are_of_the_key_and_in_a_way_that_is_taken(key_file: Path) -> None:
    tokens = Tokens(settings(), key_of_file(key_file))
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 60, "tenant": "acme"}
    good = PROVIDER.token()
    forged = [
        jwt.encode(claims, IdentityProvider().key, algorithm="RS256"),
        jwt.encode(claims, PROVIDER.other, algorithm="ES256"),
        jwt.encode(claims, "x" * 64, algorithm="HS256"),
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, PROVIDER.key, algorithm="RS512"),
        good[:-4] + "AAAA",
        good + ".x",
        "a.b.c",
        "x",
    ]
    for token in forged:
        with pytest.raises(Unauthenticated):
            await tokens.identify(token)
    assert (await tokens.identify(good)).tenants == ("acme",)


async def test_a_failed_look_up_is_asked_again_and_success_is_remembered() -> None:
    """Row 2: the resolver fails once: the first request is refused, the second works, two calls; then none."""
    async with identity_provider() as provider:
        jwks = Jwks(provider.url, seconds=600)
        tokens = Tokens(settings(), jwks.find)
        provider.broken = True
        with pytest.raises(KeysAway) as away:
            await tokens.identify(provider.token())
        assert provider.url not in str(away.value)
        provider.broken = False
        for _ in range(3):
            assert (await tokens.identify(provider.token())).tenants == ("acme",)
        assert provider.asked == 2
        await jwks.close()


async def test_a_rotated_key_is_looked_up_and_a_made_up_one_not_each_time() -> None:
    async with identity_provider() as provider:
        now = [1_000.0]
        tokens = Tokens(settings(), Jwks(provider.url, seconds=600, again=10, clock=lambda: now[0]).find)
        old = provider.token()
        await tokens.identify(old)
        provider.rotate()
        with pytest.raises(Unauthenticated):
            await tokens.identify(provider.token())
        assert provider.asked == 1, "a flood of unknown keys is no flood of look-ups"
        now[0] += 10
        assert (await tokens.identify(provider.token())).tenants
        assert provider.asked == 2
        with pytest.raises(Unauthenticated):
            await tokens.identify(old)


async def test_what_was_remembered_ends() -> None:
    async with identity_provider() as provider:
        now = [0.0]
        tokens = Tokens(settings(), Jwks(provider.url, seconds=60, clock=lambda: now[0]).find)
        await tokens.identify(provider.token())
        provider.broken, now[0] = True, 60.0
        with pytest.raises(KeysAway):
            await tokens.identify(provider.token())


async def test_requests_at_the_same_time_share_a_look_up() -> None:
    async with identity_provider() as provider:
        tokens = Tokens(settings(), Jwks(provider.url, seconds=60).find)
        await asyncio.gather(*(tokens.identify(provider.token()) for _ in range(20)))
        assert provider.asked == 1


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not JSON", b'{"keys": []}', b'{"keys": [5]}'], ids=repr)
async def test_an_address_that_gives_no_keys_refuses_for_now(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async with identity_provider() as provider:
        monkeypatch.setattr(provider, "body", lambda: body)
        with pytest.raises(KeysAway):
            await Tokens(settings(), Jwks(provider.url, seconds=60).find).identify(provider.token())


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"jwt_issuer": None, "jwt_jwks_url": "http://x/"}, "JWT_ISSUER"),
        ({"jwt_audience": None, "jwt_jwks_url": "http://x/"}, "JWT_AUDIENCE"),
        ({"jwt_jwks_url": "http://x/", "jwt_key_file": "x"}, "JWT_KEY_FILE"),
    ],
)
def test_half_a_setting_stops(fields: dict[str, Any], names: str) -> None:
    with pytest.raises(BadSettings, match=names):
        _ = settings(**fields).takes_tokens


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n", None])
def test_a_key_file_that_holds_none_stops(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(BadSettings, match="JWT_KEY_FILE"):
        key_of_file(tmp_path / "key")


def test_a_shared_secret_is_no_way_to_sign() -> None:
    for algorithms in ("HS256", "none", "RS256,HS256", ""):
        with pytest.raises(ValueError, match="jwt_algorithms"):
            settings(jwt_algorithms=algorithms)
    assert settings(jwt_algorithms="ES256, EdDSA").jwt_algorithms == ("ES256", "EdDSA")
