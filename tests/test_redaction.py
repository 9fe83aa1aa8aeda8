from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import SecretStr

from pytest_convoprobe.redaction import MASK, Expanded, Redactor, is_secret_name, is_worth_masking
from pytest_convoprobe.transcript import Origin, Reply, ToolCall, Turn, Usage

SECRETS = st.text(min_size=6, max_size=40).filter(lambda text: is_worth_masking(text) and "*" not in text)
SURROUNDINGS = st.text(max_size=20)


def redactor(*secrets: str, **environ: str) -> Redactor:
    return Redactor(secrets, environ=environ)


@given(SECRETS, SURROUNDINGS, SURROUNDINGS)
def test_a_secret_never_survives(secret: str, before: str, after: str) -> None:
    assume(secret.strip() not in before + MASK + after)
    assert secret.strip() not in redactor(secret).text(before + secret + after)


@given(SECRETS, st.sampled_from([True, False]))
def test_a_secret_never_survives_json(secret: str, ascii_only: bool) -> None:
    written = json.dumps({"said": f"it is {secret}!"}, ensure_ascii=ascii_only)
    escaped = json.dumps(secret.strip(), ensure_ascii=ascii_only)[1:-1]
    assert escaped not in redactor(secret).text(written)


@given(SECRETS.filter(lambda text: not text.strip().endswith("\\")))
def test_a_secret_never_survives_json_within_json(secret: str) -> None:
    written = json.dumps({"arguments": json.dumps({"said": secret})})
    cleaned = redactor(secret).text(written)
    assert secret.strip() not in json.loads(json.loads(cleaned)["arguments"])["said"]


def test_a_secret_that_ends_with_a_backslash_may_take_the_next_escape_along() -> None:
    """Nobody can tell its own backslashes from those before the quote: more is masked, never less."""
    written = json.dumps({"arguments": json.dumps({"said": "0aB0c0\\"})})
    assert "0aB0c0" not in redactor("0aB0c0\\").text(written)


@given(SECRETS)
def test_a_secret_never_survives_other_escapes(secret: str) -> None:
    bare = secret.strip()
    clean = redactor(secret).text
    for written in (quote(bare, safe=""), quote(bare), quote_plus(bare), html.escape(bare), repr(bare)[1:-1]):
        assert written not in clean(f"<{written}>")


@given(SECRETS, st.text(alphabet="abcXYZ", max_size=5))
def test_a_secret_never_survives_basic_auth(secret: str, user: str) -> None:
    written = base64.b64encode(f"{user}:{secret.strip()}".encode()).decode()
    assert written not in redactor(secret).text(f"header {written} end")


@given(st.lists(st.sampled_from("the bearer of a basic key keeps it secret. Password? Token! sk- 7".split())))
def test_prose_about_secrets_stays(words: list[str]) -> None:
    text = " ".join(words)
    assert redactor("a-secret-of-ours").text(text) == text


@given(st.text(max_size=60), SECRETS)
def test_cleaning_twice_changes_nothing_more(text: str, secret: str) -> None:
    clean = redactor(secret).text
    once = clean(f"{text} api_key={secret} Bearer {secret}1")
    assert clean(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "The test is the best test.",
        "Bearer instruments are paid to whoever holds them.",
        "Basic training is free.",
        "I forgot my password: what now?",
        "Use scikit's sk-learn-pipeline-example, please.",
        "It used 120 tokens; max_tokens=500 and total_tokens: 3.",
        "def call(api_key: str = None): ...",
        "See https://example.org:8080/a/b?page=2 for more.",
        "The key to it is patience.",
        "llm.api_key: the environment variable OPENAI_API_KEY is not set; set it, or give a default",
        "judge.api_key: expected text, found a number",
        "target.client_secret: Die Umgebungsvariable fehlt",
        "access_token: it expires soon",
    ],
)
def test_harmless_text_stays(text: str) -> None:
    assert redactor("test", "sk-1", "ollama", "not-needed").text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key sk-proj-abcDEF1234567890 refused", "key **** refused"),
        ("Authorization: Bearer abcd1234efgh", "Authorization: Bearer ****"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic ****"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id ****."),
        ("ghp_" + "a1" * 18, "****"),
        ("AIza" + "Sy0" * 12, "****"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM", "****"),
        ("postgres://me:hunter2@db/x", "postgres://me:****@db/x"),
        ("https://x.example/y?key=abc&page=2", "https://x.example/y?key=****&page=2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "****"),
        ("api_key=test&page=2", "api_key=****&page=2"),
        ("OPENAI_API_KEY: test", "OPENAI_API_KEY: ****"),
        ("api_key: Xk29 and more", "api_key: **** and more"),
        ("api_key: qwertyuiopasdfghjklz used", "api_key: **** used"),
        ("api_key=the rest", "api_key=**** rest"),
        ("api_key: swordfish\nmodel: x", "api_key: ****\nmodel: x"),
        ("client_secret='two words'", "client_secret='****'"),
        ('{"password": "te\\"st", "a": 1}', '{"password": "****", "a": 1}'),
        ('{"a": "{\\"token\\": \\"test\\"}"}', '{"a": "{\\"token\\": \\"****\\"}"}'),
    ],
)
def test_shapes_and_key_positions_are_masked(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


def test_a_short_secret_is_masked_in_key_positions_only() -> None:
    cleaned = redactor("test").data({"api_key": "test", "said": "this is a test"})
    assert cleaned == {"api_key": MASK, "said": "this is a test"}


def test_a_longer_secret_that_begins_like_another_goes_as_a_whole() -> None:
    assert redactor("abcdef-1", "abcdef-1-and-more").text("<abcdef-1-and-more>") == "<****>"


def test_each_long_line_of_a_secret_is_masked_alone() -> None:
    assert redactor("first-line-01234567\nsecond-line-0123456").text("x second-line-0123456") == "x ****"


def test_data_keeps_its_shape() -> None:
    data = {"a": ["x tops3cret", ("tops3cret",)], "n": 1, "flag": True, "none": None, "max_tokens": 5}
    expected = {"a": ["x ****", ("****",)], "n": 1, "flag": True, "none": None, "max_tokens": 5}
    assert redactor("tops3cret").data(data) == expected


def test_data_masks_whatever_stands_under_a_secret_key() -> None:
    data = {
        "Authorization": "plain",
        "password": {"old": "a", "new": ["b", 7]},
        "apiKey": 12345,
        "token": None,
    }
    masked = {
        "Authorization": MASK,
        "password": {"old": MASK, "new": [MASK, MASK]},
        "apiKey": MASK,
        "token": None,
    }
    assert redactor().data(data) == masked


def test_data_masks_keys_and_wrapped_secrets() -> None:
    assert redactor("tops3cret").data({"tops3cret": SecretStr("other")}) == {MASK: MASK}


def test_a_key_that_was_met_before_is_masked_as_soon_as_it_is_known_to_be_a_secret() -> None:
    learning = redactor()
    assert learning.data({"tops3cret": 1}) == {"tops3cret": 1}
    learning.learn(["tops3cret"])
    assert learning.data({"tops3cret": 1}) == {MASK: 1}


def test_many_keys_and_long_ones_are_masked_too() -> None:
    data = {f"{'x' * (number % 90)}tops3cret{number}": 1 for number in range(2_000)}
    assert "tops3cret" not in repr(redactor("tops3cret").data(data))


@pytest.mark.parametrize("text", ["?key=1", "&sig=1", "://:p@"])
def test_the_shortest_texts_with_a_secret_are_masked(text: str) -> None:
    assert redactor().text(text) == text[:-1].removesuffix("p") + MASK + "@" * text.endswith("@")


def test_data_without_end_is_survived() -> None:
    endless: list[object] = ["tops3cret"]
    endless.append(endless)
    assert "tops3cret" not in repr(redactor("tops3cret").data(endless))


def test_values_of_the_environment_that_look_like_keys_are_masked() -> None:
    clean = redactor(OPENAI_API_KEY="Zx81-spectrum", DB_PASSWORD="sesamestreet", SORT_KEY="created_at").text
    assert clean("Zx81-spectrum sesamestreet created_at") == "**** **** created_at"


def test_short_and_trivial_values_of_the_environment_are_not_secrets() -> None:
    clean = redactor(API_KEY="abc1234", APP_SECRET="changeme", EDITOR="vim-for-ever-9").text
    assert clean("abc1234 changeme vim-for-ever-9") == "abc1234 changeme vim-for-ever-9"


def test_a_path_in_the_environment_is_not_a_secret(tmp_path) -> None:
    key = tmp_path / "Key1.pem"
    key.write_text("x")
    assert redactor(TLS_KEY=str(key)).text(f"reading {key}") == f"reading {key}"


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apikey",
        "X-API-Key",
        "Authorization",
        "clientSecret",
        "auth_token",
        "Cookie",
        "DB_PASSWORD",
    ],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["max_tokens", "input_cost_per_token", "key", "keyboard", "secretary"])
def test_names_that_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_a_secret_can_be_learned_later() -> None:
    one = redactor("first-secret")
    one.learn(["second-secret"])
    assert one.text("first-secret second-secret") == f"{MASK} {MASK}"


def test_a_record_is_masked_in_every_depth_and_keeps_its_types() -> None:
    call = ToolCall("f", {"note": "is s3cr3t-word"}, result=["s3cr3t-word"])
    turn = Turn(1, "hi", Reply("s3cr3t-word!", (call,), Usage(1, 2)), Origin.SCRIPT)
    masked = redactor("s3cr3t-word").record(turn)
    expected = ToolCall("f", {"note": f"is {MASK}"}, result=[MASK])
    assert masked == Turn(1, "hi", Reply(f"{MASK}!", (expected,), Usage(1, 2)), Origin.SCRIPT)
    assert masked.origin is Origin.SCRIPT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x-team: SEKRET-VALUE-1", "x-team: ****"),
        ("sekret-value-1", "****"),
        ("a Sekret-\n  Value-1 b", "a **** b"),
        ("data: Sekret-Va\n\ndata: lue-1\n", "data: ****\n"),
        ("two lines\nwithout it", "two lines\nwithout it"),
    ],
)
def test_a_secret_in_another_case_or_divided_among_lines(text: str, expected: str) -> None:
    assert redactor("Sekret-Value-1").text(text) == expected


def test_what_releases_masked_before_every_variable_was_a_secret() -> None:
    both = Redactor([Expanded("of-a-variable"), "of-a-header", Expanded("of-a-header")], environ={})
    assert both.text("of-a-variable of-a-header") == "**** ****"
    (before,) = both.earlier()
    assert before.text("of-a-variable of-a-header") == "of-a-variable ****"


ODD = "Ca+n4ry/q<&>'\"7Zü="


@pytest.mark.parametrize(
    "echo",
    [
        r"Ca+n4ry\/q<&>'\"7Z\u00fc=",  # PHP
        r"Ca+n4ry/q\u003c\u0026\u003E'\"7Zü=",  # Go, .NET
        "Ca+n4ry/q&lt;&amp;&gt;&#39;&#34;7Z&#252;=",  # Jinja
        "Ca+n4ry/q&lt;&amp;&gt;&apos;&quot;7Z&uuml;=",  # XML, Java
        "Ca+n4ry/q&amp;lt;&amp;amp;&amp;gt;&amp;#x27;&amp;quot;7Zü=",  # twice
        "Ca+n4ry/q&lt;&amp;&gt;&#x27;\\&quot;7Z\\u00fc=",  # JSON in HTML
        "Ca%2Bn4ry%2Fq%3C%26%3E'%227Z%C3%BC%3D",  # a browser
        "Ca%252Bn4ry%252fq%253C%2526%253E%2527%25227Z%25C3%25BC%253D",  # twice
        "Ca%2Bn4ry/q%3C%26%3E%27%5C%227Z%5Cu00fc%3D",  # JSON in a URL
        json.dumps(json.dumps(json.dumps(ODD))),
        base64.b64encode(json.dumps({"key": ODD}).encode()).decode(),
        quote(base64.b64encode(f"user:{ODD}".encode()).decode(), safe=""),
    ],
)
def test_a_secret_is_found_however_its_signs_are_escaped(echo: str) -> None:
    masked = Redactor([ODD], environ={}).text(f"see {echo} there")
    assert MASK in masked
    assert not any(piece in masked for piece in ("n4ry", "7Z", "bjRyeS"))
    assert masked.startswith("see ")
    assert masked.endswith(" there")
