"""The API keeps to its own document: whatever is sent by it, nothing is a 500 and every answer is of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.recalls import RecallProcess

from afterturn.consumers.recall.web.documenting import document

DOCUMENT = schemathesis.openapi.from_dict(document()).exclude(path="/v1/events")  # a stream has no end
CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def serving(recorded: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecallProcess]:
    process = RecallProcess(tmp_path_factory.mktemp("fuzzed"), recorded)
    process.start()
    yield process
    process.child.stop()


@DOCUMENT.parametrize()
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    phases=(Phase.explicit, Phase.generate),
)
def test_whatever_is_sent_by_the_document_is_answered_by_it(case: Any, serving: RecallProcess) -> None:
    case.headers["Afterturn-Tenant"] = "fuzzed"
    answer = case.call(base_url=serving.url, timeout=60)
    assert answer.status_code < 500
    case.validate_response(answer, checks=CHECKS)


def test_every_example_is_of_its_schema() -> None:
    found = document()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            bodies = [operation["requestBody"]] if "requestBody" in operation else []
            for body in (*bodies, *operation["responses"].values()):
                for content in body["content"].values():
                    if "example" in content:
                        schema = {**content["schema"], "components": found["components"]}
                        wrong = [
                            error.message
                            for error in jsonschema.Draft202012Validator(schema).iter_errors(content["example"])
                        ]
                        assert wrong == [], f"{method} {path}"
