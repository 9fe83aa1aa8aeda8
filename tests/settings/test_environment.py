from __future__ import annotations

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.settings.requirements import require_model


def test_a_variable_is_filled_in(load) -> None:
    loaded = load("llm: {model: 'openai/${NAME}'}", environ={"NAME": "x"})
    assert loaded.settings.llm.model == "openai/x"


@pytest.mark.parametrize(("environ", "expected"), [({}, "b"), ({"A": ""}, "b"), ({"A": "a"}, "a")])
def test_a_default_stands_in_for_what_is_missing_or_empty(load, environ, expected) -> None:
    assert load("llm: {model: '${A:-b}'}", environ=environ).settings.llm.model == expected


def test_numbers_may_come_from_variables(load) -> None:
    loaded = load("run: {concurrency: '${N}', max_cost: '${M:-2.5}'}", environ={"N": "4"})
    assert (loaded.settings.run.concurrency, loaded.settings.run.max_cost) == (4, 2.5)


def test_two_dollars_are_one(load) -> None:
    loaded = load("llm: {extra_instructions: 'say $$5, $${NAME} and $5'}")
    assert loaded.settings.llm.extra_instructions == "say $5, ${NAME} and $5"


def test_missing_variables_are_named_with_their_places_all_at_once(refuse) -> None:
    text = refuse("llm:\n  api_key: ${FIRST}\n  model: ${SECOND}\n")
    assert "convoprobe.yaml:2:12: llm.api_key: the environment variable FIRST is not set" in text
    assert "convoprobe.yaml:3:10: llm.model: the environment variable SECOND is not set" in text


def test_a_missing_variable_of_a_required_field_is_told_once(refuse) -> None:
    text = refuse("target: {type: python, object: '${AGENT}'}")
    assert "AGENT is not set" in text
    assert "`object` is missing" not in text


def test_a_reference_that_is_none(refuse) -> None:
    assert "`${` begins no variable; write ${NAME}" in refuse("llm: {model: '${1x}'}")


def test_an_empty_variable_is_as_if_nothing_were_set(load) -> None:
    assert load("llm: {api_key: '${KEY}'}", environ={"KEY": ""}).settings.llm.api_key is None


def test_values_in_secret_positions_are_secrets(load) -> None:
    loaded = load(
        """
        llm:
          api_key: ${KEY}
          extra_headers: {X-Team: '${TEAM}', Authorization: Bearer plain-token-7}
          extra_params: {aws_secret_access_key: aws-value-8}
          model: ${NAME}
          api_base: http://me:pass-word-9@host/v1
        """,
        environ={"KEY": "env-value-1", "TEAM": "team-2", "NAME": "name-3"},
    )
    assert set(loaded.secrets) == {
        "env-value-1", "team-2", "Bearer plain-token-7", "plain-token-7", "aws-value-8", "pass-word-9",
    }  # fmt: skip


@pytest.mark.parametrize("keys", ["llm: {extra_headers: ", "target: {type: http, url: 'http://h', headers: "])
def test_a_header_of_any_name_may_hold_a_secret(load, keys: str) -> None:
    headers = "{X-Thing: secret-value-123456, X-Team: support, Accept: application/json; q=0.9}"
    assert set(load(f"{keys}{headers}}}").secrets) == {"secret-value-123456"}


@pytest.mark.parametrize("replay", ["only", "auto"])
def test_a_replay_needs_no_key(load, replay: str) -> None:
    loaded = load(f"llm: {{model: openai/x, api_key: '${{KEY}}'}}\nrun: {{replay: {replay}}}")
    assert loaded.settings.judge.api_key is None


def test_a_live_call_after_all_names_the_missing_variable(load) -> None:
    loaded = load("llm: {model: openai/x, apikey: '${KEY}'}", overrides={"run.replay": "auto"})
    with pytest.raises(SettingsError, match=r"convoprobe.yaml:1:32: llm.apikey: .* KEY is not set"):
        require_model(loaded.settings.judge, "judge")


def test_a_missing_key_that_another_level_makes_good_is_not_missed(load) -> None:
    loaded = load(
        "llm: {model: openai/x, api_key: '${KEY}'}\njudge: {api_key: mine}", overrides={"run.replay": "auto"}
    )
    assert require_model(loaded.settings.judge, "judge") == "openai/x"


def test_a_replay_still_needs_what_decides_over_the_run(refuse) -> None:
    assert "WHO is not set" in refuse("llm: {model: '${WHO}'}\nrun: {replay: only}")


def test_what_a_variable_is_filled_in_with_is_a_secret_wherever_it_is_used(load) -> None:
    loaded = load(
        """
        target:
          type: http
          url: https://${HOST}/api?code=a%2Fliteral&page={{ message | urlencode }}&n=${NUMBER}
          body: {session: "${SESSION:-none}", model: "${INNER}"}
        llm: {model: "openai/${MODEL}", extra_instructions: "Speak ${LANGUAGE}"}
        run: {recordings: "${FOLDER}"}
        """,
        environ={
            "HOST": "shop.example.org", "NUMBER": "1234567", "SESSION": "session-1", "INNER": "inner-1",
            "MODEL": "model-1", "LANGUAGE": "english", "FOLDER": "folder-1",
        },
    )  # fmt: skip
    masked = Redactor(loaded.secrets, environ={}).text
    assert masked("shop.example.org 1234567 session-1 inner-1 a%2Fliteral a/literal") == " ".join(
        6 * ["****"]
    )
    assert masked("model-1 folder-1 english message") == "model-1 folder-1 english message"


def test_variables_and_query_parameters_may_be_declared_public(load) -> None:
    loaded = load(
        """
        target: {type: http, url: "${SHOP}/chat?region=north-west-1&code=${CODE}"}
        results: {public: [SHOP, region]}
        """,
        environ={"SHOP": "https://shop.example", "CODE": "code-of-ours"},
    )
    assert set(loaded.secrets) == {"code-of-ours"}


@pytest.mark.parametrize("value", ["true", "8080", "", "en", "staging", "production"])
def test_short_and_common_values_of_variables_mask_nothing(load, value: str) -> None:
    loaded = load("llm: {extra_instructions: 'x ${V}'}", environ={"V": value})
    text = f"it is true that staging and production, en, use port 8080 {value}"
    assert Redactor(loaded.secrets, environ={}).text(text) == text


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://me:pass%20word@host/v1", {"pass%20word", "pass word"}),
        ("https://token-of-ours@host/v1", {"token-of-ours"}),
        ("https://host/v1?bare-value#access=fragment-1", {"bare-value", "fragment-1"}),
        ("https://host/v1?api-version=2024-02-15", set()),
        ("see https://host/v1?code=in-a-sentence for more", set()),
    ],
)
def test_the_secrets_of_an_address(load, url: str, secrets: set[str]) -> None:
    assert set(load(f"llm: {{api_base: '{url}'}}").secrets if url.startswith("http") else ()) == secrets


def test_settings_show_no_text_when_they_are_printed(load) -> None:
    loaded = load(
        "llm: {model: openai/x, extra_instructions: a-secret-1, extra_params: {a: a-secret-2}}\n"
        "target: {type: http, url: 'http://a-secret-3', body: [a-secret-4], headers: {X: a-secret-5}}\n"
    )
    text = f"{loaded!r} {loaded.settings} {loaded.settings.target!r} {loaded.layers}"
    assert "secret" not in text
    assert "openai/x" in text
