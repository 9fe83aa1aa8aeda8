"""What the plug-in must not do to a suite that it is installed beside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support import warm_process

from .suite import Suite

HEAVY = ("litellm", "pydantic", "jinja2", "yaml", "httpx", "asyncio", "jmespath")


def test_a_suite_without_scenarios_loads_nothing_heavy(suite: Suite) -> None:
    suite.write("conftest.py", "")
    suite.write(
        "test_plain.py",
        f"""
        import sys
        def test_plain():
            assert [name for name in {HEAVY!r} if name in sys.modules] == []
        """,
    )
    suite.run_new_process().assert_outcomes(passed=1)


def test_a_suite_without_scenarios_has_none_of_the_hooks_that_run_at_each_test(suite: Suite) -> None:
    suite.conftest("""
        def pytest_sessionfinish(session):
            print("running:", session.config.pluginmanager.hasplugin("convoprobe-scenarios"))
        """)
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.run("-s").stdout.fnmatch_lines(["*running: False"])
    suite.scenario("one")
    suite.run("-s").stdout.fnmatch_lines(["*running: True"])


def test_collecting_and_a_whole_run_never_load_litellm(suite: Suite) -> None:
    suite.conftest("""
        def pytest_sessionfinish(session):
            import sys
            print("litellm loaded:", "litellm" in sys.modules)
        """)
    suite.scenario("one")
    suite.run_new_process("-s", "--collect-only").stdout.fnmatch_lines(["*litellm loaded: False"])
    suite.run_new_process("-s").stdout.fnmatch_lines(["*litellm loaded: False"])


def test_nothing_of_ours_complains_under_the_strictest_options(suite: Suite) -> None:
    suite.scenario("one", tags=["smoke"])
    suite.write("test_plain.py", "def test_plain(convoprobe): pass")
    result = suite.run_new_process("-W", "error", "--strict-markers", "--strict-config")
    result.assert_outcomes(passed=2)
    assert result.errlines == []


def test_development_mode_finds_nothing_left_open(suite: Suite) -> None:
    suite.scenario("one")
    suite.scenario("two", outcome="failed")
    suite.scenario("unfinished", sleep=60)
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "pytest", "-p", "convoprobe", "-x"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=suite.path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == ""


def test_nothing_depends_on_when_attributes_of_our_hooks_are_read(suite: Suite) -> None:
    """pytest 8.2 reads all of them at the session's start: it looks for fixtures there."""
    suite.conftest("""
        def pytest_sessionstart(session):
            for plugin in session.config.pluginmanager.get_plugins():
                if type(plugin).__module__.startswith("pytest_convoprobe."):
                    for name in dir(plugin):
                        getattr(plugin, name, None)
        """)
    suite.scenario("one")
    result = suite.run("--convoprobe-html=page.html", "--convoprobe-min-scenarios=1")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["report: page.html"])


@pytest.mark.parametrize("plugin", ["faulthandler", "terminal", "cacheprovider", "logging", "skipping"])
def test_a_suite_without_one_of_pytests_own_plugins(suite: Suite, plugin: str) -> None:
    suite.scenario("one")
    suite.scenario("two", outcome="failed")
    suite.write("test_z.py", "import pytest\ndef test_z(): pytest.exit('enough', returncode=7)\n")
    option = f"no:{plugin}"
    assert suite.run("-p", option, "scenarios").ret == pytest.ExitCode.TESTS_FAILED
    assert suite.run("-p", option).ret == 7
    assert suite.started() == ["one", "two"] * 2


def test_the_plugin_can_be_switched_off(suite: Suite) -> None:
    suite.write("conftest.py", "")
    suite.scenario("one")
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.pytester.runpytest_subprocess("-p", "no:convoprobe")
    result.assert_outcomes(passed=1)


def test_the_environment_and_the_working_folder_are_left_alone(suite: Suite) -> None:
    suite.conftest("""
        import os
        BEFORE = dict(os.environ), set(os.listdir())
        def pytest_unconfigure():
            left = {name for name in os.environ if os.environ[name] != BEFORE[0].get(name)}
            print("left:", left, set(os.listdir()) - BEFORE[1])
        """)
    suite.scenario("one")
    result = suite.run("-s", "-p", "no:cacheprovider", "--convoprobe-no-results")
    result.stdout.fnmatch_lines(["left: set() {'talk.log'}"])


def _interrupted(suite: Suite, *args: str, by: tuple[int, ...] = (signal.SIGINT,)) -> tuple[int, str]:
    """Start pytest, wait until its conversations run, send it the signals, and wait for its end."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [warm_process.executable(), "-m", "pytest", "-p", "convoprobe", *args]
    process = subprocess.Popen(
        command, cwd=suite.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    _wait_for(lambda: len(suite.started()) >= 3, process)
    for number in by:
        process.send_signal(number)
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, output


def _wait_for(condition: object, process: subprocess.Popen[str]) -> None:
    assert callable(condition)
    for _ in range(600):
        if condition():
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    process.kill()
    pytest.fail("the conversations never began")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize("args", [(), ("-s",), ("--tb=no", "-q")], ids=" ".join)
def test_ctrl_c_ends_the_run_with_pytests_own_code(suite: Suite, args: tuple[str, ...]) -> None:
    for number in range(3):
        suite.scenario(f"s{number}", sleep=600)
    code, output = _interrupted(suite, *args)
    assert code == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    assert sum(line.startswith("cancelled") for line in suite.log) == 3
    assert suite.log[-1] == "closed"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_sigterm_ends_the_run_as_ctrl_c_does_and_the_handler_is_put_back(suite: Suite) -> None:
    suite.conftest("""
        import signal

        def pytest_configure(config):
            config.stash[BACKEND] = StandIn()
            log(f"begins {signal.getsignal(signal.SIGTERM)}")
            config.add_cleanup(lambda: log(f"ends {signal.getsignal(signal.SIGTERM)}"))
        """)
    for number in range(3):
        suite.scenario(f"s{number}", sleep=600)
    code, output = _interrupted(suite, by=(signal.SIGTERM,))
    assert code == pytest.ExitCode.INTERRUPTED
    assert "the process was asked to end (SIGTERM)" in output
    assert sum(line.startswith("cancelled") for line in suite.log) == 3
    assert suite.log[-2:] == ["closed", f"ends {suite.log[0].removeprefix('begins ')}"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_a_second_ctrl_c_is_no_success_and_breaks_nothing_off(suite: Suite) -> None:
    """It comes before pytest has noted its own exit status of the first."""
    suite.conftest("""
        import os, signal

        @pytest.hookimpl(tryfirst=True)
        def pytest_keyboard_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
        """)
    for number in range(3):
        suite.scenario(f"s{number}", sleep=600)
    code, _ = _interrupted(suite)
    assert code == pytest.ExitCode.INTERRUPTED
    assert sum(line.startswith("cancelled") for line in suite.log) == 3
    assert suite.log[-1] == "closed"
    (run,) = (suite.path / ".convoprobe" / "runs").glob("*/run.json")
    assert json.loads(run.read_bytes())["state"] == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_a_handler_of_the_project_keeps_sigterm(suite: Suite) -> None:
    suite.conftest("""
        import signal

        def theirs(number, frame):
            log("theirs")
            raise pytest.exit.Exception("by the project", returncode=7)

        def pytest_configure(config):
            config.stash[BACKEND] = StandIn()
            signal.signal(signal.SIGTERM, theirs)
            config.add_cleanup(lambda: log(f"kept {signal.getsignal(signal.SIGTERM) is theirs}"))
        """)
    for number in range(3):
        suite.scenario(f"s{number}", sleep=600)
    code, _ = _interrupted(suite, by=(signal.SIGTERM,))
    assert code == 7
    assert suite.log.count("theirs") == 1
    assert suite.log[-2:] == ["closed", "kept True"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_ctrl_c_ends_it_though_a_conversation_will_not_end(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
@pytest.fixture(scope="session")
def convoprobe_target():
    import time
    def agent(message):
        log("start x::blocked 1")
        time.sleep(600)
    return agent
""",
    )
    for number in range(3):
        suite.scenario(f"s{number}")
    code, _ = _interrupted(suite)
    assert code == pytest.ExitCode.INTERRUPTED


def test_a_suite_that_forbids_sockets_holds_conversations_without_them(suite: Suite) -> None:
    suite.conftest("""
        import socket
        made = socket.socket
        class GuardedSocket(socket.socket):
            def __new__(cls, *args, **kwargs):
                raise RuntimeError("A test tried to use socket.socket.")
        def pytest_runtest_setup():
            socket.socket = GuardedSocket
        def pytest_runtest_teardown():
            socket.socket = made
        """)
    suite.scenario("one")
    suite.scenario("two", outcome="failed")
    suite.run("-W", "error").assert_outcomes(passed=1, failed=1)
