"""The `convoprobe` fixture in ordinary tests."""

from __future__ import annotations

import asyncio

import pytest

from .suite import REST, Suite

TEXT = """
name: {name}
description: A talk
synthetic_user: {{persona: Somebody, initial_query: Hello}}
evaluation: {{correctness_criteria: [It answers]}}
metadata: {{{metadata}}}
"""


def text(name: str = "inline", metadata: str = "") -> str:
    return TEXT.format(name=name, metadata=metadata)


def test_a_path_beside_the_test_or_below_the_rootdir(suite: Suite) -> None:
    suite.scenario("one", file="tests/talks/a.yaml")
    suite.write(
        "tests/test_it.py",
        """
        def test_beside(convoprobe):
            assert convoprobe.run("talks/a.yaml").passed
        def test_from_the_root(convoprobe):
            assert convoprobe.run("tests/talks/a.yaml").name == "one"
        """,
    )
    suite.run("tests").assert_outcomes(passed=2)


def test_one_of_several_scenarios_of_a_file(suite: Suite) -> None:
    suite.scenario("one", file="a.yaml")
    suite.scenario("two", file="a.yaml")
    suite.write(
        "test_it.py",
        """
        def test_two(convoprobe):
            assert convoprobe.run("a.yaml::two").name == "two"
        def test_which(convoprobe):
            convoprobe.run("a.yaml")
        """,
    )
    result = suite.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*file.yaml::name*'one', 'two'*"])


def test_text_mapping_and_scenario_object(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        from pytest_convoprobe.scenario.models import Scenario
        MAPPING = {dict(name="mapped", **REST)!r}
        def test_text(convoprobe):
            assert convoprobe.run({text()!r}).name == "inline"
        def test_mapping(convoprobe):
            assert convoprobe.run(MAPPING).name == "mapped"
        def test_object(convoprobe):
            assert convoprobe.run(Scenario.model_validate(MAPPING)).name == "mapped"
        """,
    )
    suite.run().assert_outcomes(passed=3)


def test_a_target_for_one_run_needs_no_settings(suite: Suite) -> None:
    suite.conftest("", target="")
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            result = convoprobe.run({text()!r}, target=lambda message: "mine: " + message)
            assert result.transcript.turns[0].reply.text == "mine: hello"
        """,
    )
    suite.run().assert_outcomes(passed=1)


def test_two_runs_in_a_test_have_two_ids(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            ids = {{convoprobe.run({text()!r}).scenario_id for _ in range(2)}}
            assert len(ids) == 2
            assert len(convoprobe.results) == 2
        """,
    )
    suite.run().assert_outcomes(passed=1)


def test_settings_for_one_run(suite: Suite) -> None:
    suite.conftest("""
        def pytest_convoprobe_settings(item, scenario, settings):
            print("judge:", settings.judge.model)
        """)
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            convoprobe.run({text()!r}, settings={{"judge.model": "openai/mine"}})
        """,
    )
    suite.run("-s").stdout.fnmatch_lines(["*judge: openai/mine"])


def test_a_mistake_in_a_call_is_shown_at_the_line_of_the_test(suite: Suite) -> None:
    scenarios = f"{text(name='One')}\n---\n{text(name='Two')}"
    suite.write("two.yaml", scenarios)
    suite.write(
        "test_it.py",
        f"""
        def test_settings(convoprobe):
            convoprobe.run({text()!r}, settings={{"run.turn_timout": 3}})

        def test_target(convoprobe):
            convoprobe.run({text()!r}, target=5)

        def test_name(convoprobe):
            convoprobe.run("two.yaml::Tow")
        """,
    )
    result = suite.run("--tb=short")
    result.stdout.fnmatch_lines_random(
        [
            "E*SettingsError: settings=: run.turn_timout: unknown key; did you mean `turn_timeout`?*",
            "E*TargetStartError: builtins.int can't be a target: give a function*",
            "E*ValueError: *two.yaml has no scenario 'Tow'; did you mean 'Two'? It has: 'One', 'Two'",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_convoprobe*.py:*")


def test_assert_passed_shows_the_whole_failure(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            convoprobe.run({text(metadata="outcome: failed, reason: rude")!r}).assert_passed()
        """,
    )
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert_passed()",
            "E*ScenarioFailed: inline: failed: rude",
            "*convoprobe: inline*",
            "run again: *test_it",
        ]
    )
    result.stdout.no_fnmatch_line("*result.py:*")


def test_a_plain_assertion_shows_it_too(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            assert convoprobe.run({text(metadata="outcome: error, reason: away")!r}).passed
        """,
    )
    suite.run().stdout.fnmatch_lines(["*convoprobe: inline*", "ERROR  inline", "*infrastructure*"])


def test_a_scenario_that_is_to_be_skipped_skips_the_test(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            convoprobe.run({text() + "skip: not yet" + chr(10)!r})
        """,
    )
    suite.run("-rs").stdout.fnmatch_lines(["SKIPPED*not yet"])


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("nowhere.yaml", "no scenario file nowhere.yaml: looked for *"),
        ({"nmae": "x"}, "*unknown key; did you mean `name`?*"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_shown_at_the_tests_own_line(
    suite: Suite, scenario: object, words: str
) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            convoprobe.run({scenario!r})
        """,
    )
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*convoprobe.run(*", f"E*{words}"])
    result.stdout.no_fnmatch_line("*inline.py*")


def test_the_summary_counts_them(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(convoprobe):
            convoprobe.run({text("a")!r})
            convoprobe.run({text("b")!r})
        """,
    )
    suite.run().stdout.fnmatch_lines(["2 scenarios: 2 passed"])


def test_one_that_is_asked_for_in_the_middle_of_a_test_is_counted_stored_and_shown(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        def test_it(request):
            request.getfixturevalue("convoprobe").run({text(metadata="outcome: failed")!r}).assert_passed()
        """,
    )
    result = suite.run("--convoprobe-html=report.html")
    result.stdout.fnmatch_lines(["FAILED  inline", "1 scenario: 1 failed (agent)", "report: report.html"])
    assert (suite.path / "report.html").exists()


def test_the_process_that_starts_the_workers_counts_them_too(suite: Suite) -> None:
    suite.write("test_it.py", f"def test_it(convoprobe): convoprobe.run({text()!r})")
    result = suite.run_process("-n1", plugins=["xdist.plugin"])
    result.stdout.fnmatch_lines(["1 scenario: 1 passed"])


ASYNC = """
    import asyncio
    import pytest

    {mark}
    async def test_it(convoprobe):
        here = asyncio.get_running_loop()
        async def agent(message):
            assert asyncio.get_running_loop() is here
            return "from the test's loop"
        results = await asyncio.gather(*(convoprobe.run_async({text!r}, target=agent) for _ in range(20)))
        assert {{result.transcript.turns[0].reply.text for result in results}} == {{"from the test's loop"}}
    """


@pytest.mark.parametrize(
    ("plugin", "mark", "more"),
    [
        ("pytest_asyncio.plugin", "@pytest.mark.asyncio", ""),
        (
            "anyio.pytest_plugin",
            "@pytest.mark.anyio",
            "@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n",
        ),
    ],
)
def test_async_tests(suite: Suite, plugin: str, mark: str, more: str) -> None:
    suite.conftest(more)
    suite.write("test_it.py", ASYNC.format(mark=mark, text=text()))
    suite.run_process(plugins=[plugin]).assert_outcomes(passed=1)


def test_async_tests_under_trio(suite: Suite) -> None:
    pytest.importorskip("trio")
    suite.conftest("@pytest.fixture\ndef anyio_backend(): return 'trio'\n")
    suite.write(
        "test_it.py",
        f"""
        import pytest
        import trio
        @pytest.mark.anyio
        async def test_it(convoprobe):
            await trio.sleep(0)
            assert (await convoprobe.run_async({text()!r}, target=lambda message: "hi")).passed
        """,
    )
    suite.run_process(plugins=["anyio.pytest_plugin"]).assert_outcomes(passed=1)


def test_run_in_an_async_test_says_what_to_call(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        import pytest
        @pytest.mark.asyncio
        async def test_it(convoprobe):
            convoprobe.run({text()!r})
        """,
    )
    result = suite.run_process(plugins=["pytest_asyncio.plugin"])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*await convoprobe.run_async()*"])


def test_cancelling_the_test_cancels_the_conversation(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        f"""
        import asyncio
        import pathlib
        import pytest
        @pytest.mark.asyncio
        async def test_it(convoprobe):
            task = asyncio.create_task(convoprobe.run_async({text(metadata="sleep: 60")!r}))
            log = pathlib.Path("talk.log")
            while not log.exists() or "start " not in log.read_text():
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        """,
    )
    suite.run_process(plugins=["pytest_asyncio.plugin"]).assert_outcomes(passed=1)
    assert any(line.startswith("cancelled") for line in suite.log)


def test_in_a_notebook_pytest_itself_runs_inside_a_loop(suite: Suite) -> None:
    suite.scenario("inline", file="inline.yml")
    suite.scenario("one")
    suite.scenario("two", outcome="failed")
    suite.write(
        "test_it.py",
        """
        import pytest
        def test_plain(convoprobe):
            assert convoprobe.run("inline.yml").passed
        @pytest.fixture
        def ran(convoprobe):
            return convoprobe.run("inline.yml")
        def test_fixture(ran):
            assert ran.passed
        """,
    )

    async def cell() -> pytest.RunResult:
        return suite.run()

    asyncio.run(cell()).assert_outcomes(passed=3, failed=1)
