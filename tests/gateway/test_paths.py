from __future__ import annotations

import pytest

from pytest_convoprobe.gateway.paths import joined, upstream_for

BOTH = {"openai": "o", "anthropic": "a"}


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://api.openai.com/v1", "chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com", "responses", "https://api.openai.com/v1/responses"),
        ("https://api.anthropic.com", "v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "v1/messages", "https://api.anthropic.com/v1/messages"),
        ("http://localhost:8000/api/v3", "chat/completions", "http://localhost:8000/api/v3/chat/completions"),
        ("https://h/openai/v1beta", "v1beta/models", "https://h/openai/v1beta/models"),
        (
            "https://h/openai/deployments/x",
            "chat/completions",
            "https://h/openai/deployments/x/chat/completions",
        ),
    ],
)
def test_a_path_is_joined_with_its_version_once(base: str, path: str, url: str) -> None:
    assert joined(base, path) == url
    assert joined(base, path, "a=1&b=%20") == f"{url}?a=1&b=%20"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("chat/completions", "openai"),
        ("v1/responses/resp_1", "openai"),
        ("v1/embeddings", "openai"),
        ("v1/messages", "anthropic"),
        ("v1/messages/count_tokens", "anthropic"),
        ("messages", "anthropic"),
        ("v1/models", "openai"),
        ("files", "openai"),
        ("", "openai"),
    ],
)
def test_the_path_says_whose_protocol_it_is(path: str, name: str) -> None:
    assert upstream_for(path, BOTH) == name


def test_other_paths_go_to_the_only_upstream() -> None:
    assert upstream_for("v1/models", {"anthropic": "a"}) == "anthropic"
    assert upstream_for("v1/chat/completions", {"anthropic": "a"}) == "openai"
    assert upstream_for("v1/messages", {"openai": "o"}) == "anthropic"
    assert upstream_for("v1/models", {}) is None
