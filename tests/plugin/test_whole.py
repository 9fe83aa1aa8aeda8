"""The whole way, with the real runner, against a chat-completions server on loopback."""

from __future__ import annotations

import pytest

from pytest_convoprobe.results.store import list_runs
from tests.support.chat_server import ChatServer

from .suite import REST, TARGET, Suite

JUDGE = "judge:\n  model: openai/gpt-4o-mini\n  client: litellm\n"


@pytest.fixture
def server() -> ChatServer:
    return ChatServer()


@pytest.fixture
def live(suite: Suite, server: ChatServer) -> Suite:
    """A project whose settings name the server."""
    suite.write("conftest.py", "import pytest\n" + TARGET)
    for name in ("one", "two"):
        suite.scenario(name)
    with server:
        suite.write(
            "convoprobe.yaml",
            f"llm:\n  model: openai/fake\n  api_base: {server.base_url}\n  api_key: sk-not-a-real-key-123\n",
        )
        yield suite


def test_live_then_recorded_then_replayed_without_a_call(live: Suite, server: ChatServer) -> None:
    """The judge is a model of LiteLLM's list of prices, and called through it; the user's is neither."""
    live.write("convoprobe.yaml", (live.path / "convoprobe.yaml").read_text() + JUDGE)
    first = live.run_new_process("--convoprobe-replay=record", "-v", "-W", "error")
    first.assert_outcomes(passed=2)
    assert (live.path / "scenarios/_recordings").is_dir()
    calls = len(server.requests)
    assert calls >= 4
    live.write("convoprobe.yaml", "llm:\n  model: openai/fake\n" + JUDGE)
    live.conftest("""
        def pytest_sessionfinish(session):
            import sys
            print("litellm loaded:", "litellm" in sys.modules)
        """)
    live.write("conftest.py", (live.path / "conftest.py").read_text().replace("config.stash[BACKEND] =", ""))
    second = live.run_new_process("--convoprobe-replay=only", "-s")
    second.assert_outcomes(passed=2)
    second.stdout.fnmatch_lines(["*litellm loaded: False"])
    replayed, recorded = (ref.open().info for ref in list_runs(live.path / ".convoprobe"))
    assert recorded.prices.keys() == {"judge"}
    assert recorded.prices["judge"].keys() == {"input_cost_per_token", "output_cost_per_token"}
    assert 0 < recorded.prices["judge"]["input_cost_per_token"] < 1e-3
    assert replayed.prices == {}, "the prices were looked up although nothing was called"
    _from_another_folder_and_rootdir(live).assert_outcomes(passed=2)
    assert len(server.requests) == calls


def _from_another_folder_and_rootdir(live: Suite) -> pytest.RunResult:
    words = ("--rootdir=scenarios", "scenarios", "-c", "/dev/null", "--convoprobe-config=convoprobe.yaml")
    return live.run_process("--convoprobe-replay=only", *words, "-p", "conftest")


def test_no_model_is_one_usage_error_before_any_work(suite: Suite) -> None:
    suite.write("conftest.py", "import pytest\n" + TARGET)
    suite.scenario("one")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is set*", "*openai/gpt-4o-mini*"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("judge: {model: openai/a}", "*no model is set for the synthetic user*"),
        ("judge: {model: openai/a}\nsynthetic_user: {model: openai/a}", "*no model is set for the target*"),
    ],
)
def test_no_model_for_one_role_is_one_usage_error_before_any_work(
    suite: Suite, settings: str, words: str
) -> None:
    suite.write("conftest.py", "")
    suite.write("convoprobe.yaml", settings + "\ntarget: {type: model}\n")
    suite.scenario("one")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


def test_no_model_names_the_scenario_that_needs_one(suite: Suite) -> None:
    """Others have checks by code alone, and can be run without it."""
    suite.write("conftest.py", "import pytest\n" + TARGET)
    alone = "name: Alone\ndescription: d\nsynthetic_user: {persona: p, initial_query: q, max_turns: 1}\n"
    suite.write("scenarios/a_alone.yaml", alone + "evaluation: {replies: [{not_contains: xyz}]}\n")
    suite.scenario("judged")
    suite.run("scenarios/a_alone.yaml").assert_outcomes(passed=1)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is set for the judge*", "needed by: scenarios/judged.yaml::*"])


def test_a_scenario_without_simulated_turns_needs_no_model_for_the_user(suite: Suite) -> None:
    with ChatServer() as server:
        suite.write("conftest.py", "import pytest\n" + TARGET)
        judge = f"judge: {{model: openai/fake, api_base: '{server.base_url}', api_key: x}}\n"
        suite.write("convoprobe.yaml", judge)
        user = "{persona: Somebody, initial_query: Hello, script: [Goodbye]}"
        rest = "description: d\nevaluation: {correctness_criteria: [It answers]}\n"
        suite.write("scenarios/one.yaml", f"name: one\nsynthetic_user: {user}\n{rest}")
        suite.run_process().assert_outcomes(passed=1)


def test_a_provider_that_is_down_is_an_error_not_a_failure(suite: Suite) -> None:
    suite.write("conftest.py", "import pytest\n" + TARGET)
    suite.write(
        "convoprobe.yaml",
        "llm: {model: openai/fake, api_base: 'http://127.0.0.1:9/v1', api_key: x, max_attempts: 1}\n",
    )
    suite.scenario("one")
    result = suite.run_process()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["ERROR scenarios/one.yaml::one - infrastructure: *"])


def test_the_fixture_runs_for_real_and_keeps_the_key_of_one_call_to_itself(live: Suite) -> None:
    live.write(
        "test_it.py",
        f"""
        KEY = "one-call-" + "secret-4711"

        def test_for_real(convoprobe):
            result = convoprobe.run({dict(name="mapped", **REST)!r})
            assert result.passed
            assert result.transcript.turns[0].reply.text == "echo Hello"

        def test_key(convoprobe):
            given = {{"judge.api_key": KEY, "run.replay": "record"}}
            result = convoprobe.run({dict(name="mapped", **REST)!r}, target=lambda m: KEY, settings=given)
            assert result.transcript.turns[0].reply.text == "****"
        """,
    )
    live.run_process("test_it.py").assert_outcomes(passed=2)
    written = [path.read_text() for path in live.path.rglob("*.json*")]
    assert written
    assert not [text for text in written if "one-call-secret-4711" in text]


def test_two_targets_of_one_scenario_have_their_own_recordings(live: Suite, server: ChatServer) -> None:
    live.write(
        "conftest.py",
        """
        import pytest
        @pytest.fixture(scope="session", params=["small", "large"])
        def convoprobe_target(request):
            return lambda message: f"{request.param} has heard: {message}"
        """,
    )
    live.run_process("--convoprobe-replay=record").assert_outcomes(passed=4)
    recordings = sorted(path.name for path in (live.path / "scenarios/_recordings").rglob("*.json"))
    assert [name.rpartition("-")[0] for name in recordings] == [
        "one-large",
        "one-small",
        "two-large",
        "two-small",
    ]
    calls = len(server.requests)
    live.run_process("--convoprobe-replay=only").assert_outcomes(passed=4)
    assert len(server.requests) == calls


def test_a_missing_key_matters_only_to_scenarios_that_call_a_model(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    suite.write("conftest.py", "import pytest\n" + TARGET)
    suite.write("convoprobe.yaml", "llm: {model: openai/a, api_key: '${NO_SUCH_KEY}'}\n")
    alone = "name: Alone\ndescription: d\nsynthetic_user: {persona: p, initial_query: q, max_turns: 1}\n"
    suite.write("scenarios/a_alone.yaml", alone + "evaluation: {replies: [{not_contains: xyz}]}\n")
    suite.scenario("judged")
    suite.run("scenarios/a_alone.yaml").assert_outcomes(passed=1)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    missing = "*convoprobe.yaml:1:*llm.api_key: the environment variable NO_SUCH_KEY is not set*"
    result.stderr.fnmatch_lines([missing, "needed by: scenarios/judged.yaml::*"])
