from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_convoprobe.errors import SettingsError, TargetStartError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.settings.models import AdkTarget, HttpTarget, ModelTarget, PythonTarget
from pytest_convoprobe.targets.factory import as_target, build_target
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.targets.session_options import MakesOptions

Context = Callable[..., ConversationContext]


def shout(message: str) -> str:
    return message.upper()


class Instance:
    def send(self, message: str) -> str:
        return message


class OwnTarget(FakeTarget):
    """A target of a user's own, without parameters."""


async def first_reply(target: object, context: Context, llm: FakeLLM | None = None) -> str:
    conversation = await target.start(context(llm))  # type: ignore[attr-defined]
    try:
        return str((await conversation.send("hello")).text)
    finally:
        await conversation.aclose()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (ModelTarget(model="openai/small"), "openai/small"),
        (PythonTarget(object="bots.shop:answer"), "bots.shop:answer"),
        (HttpTarget(url="http://localhost:8000/chat"), "POST http://localhost:8000/chat"),
    ],
)
def test_settings_of_each_type_make_a_target(
    settings: ModelTarget | PythonTarget | HttpTarget, name: str, tmp_path: Path
) -> None:
    assert build_target(settings, rootdir=tmp_path).name == name


async def test_python_settings_are_relative_to_the_root(context: Context, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def answer(message):\n    return f'{message} to you'\n")
    target = build_target(PythonTarget(object="bot.py:answer"), rootdir=tmp_path)
    assert await first_reply(target, context) == "hello to you"


def test_nothing_is_imported_before_a_conversation_starts(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("raise AssertionError('imported')")
    assert build_target(PythonTarget(object="bot.py:answer"), rootdir=tmp_path).name == "bot.py:answer"


async def test_a_module_is_imported_once_for_all_conversations(context: Context, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "bot.py").write_text(
        f"with open({str(log)!r}, 'a') as log:\n    log.write('x')\ndef answer(message): return message"
    )
    target = build_target(PythonTarget(object="bot.py:answer"), rootdir=tmp_path)
    await asyncio.gather(*(first_reply(target, context) for _ in range(10)))
    assert log.read_text() == "x"


def test_a_python_object_that_is_no_reference_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"target.object: `answer` names no object"):
        build_target(PythonTarget(object="answer"), rootdir=tmp_path)


def test_a_target_stays_what_it_is() -> None:
    target = FakeTarget()
    assert as_target(target) is target


async def test_a_class_of_targets_is_made_once(context: Context) -> None:
    target = as_target(OwnTarget)
    assert await first_reply(target, context) == "Understood."
    await target.aclose()


async def test_a_reference_may_name_a_target(context: Context, tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text(
        "from pytest_convoprobe.targets.fake import FakeTarget\ntarget = FakeTarget('from a target')"
    )
    assert await first_reply(as_target("bots.py:target", rootdir=tmp_path), context) == "from a target"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (shout, "tests.targets.test_factory.shout"),
        (Instance, "tests.targets.test_factory.Instance"),
        (Instance(), "tests.targets.test_factory.Instance"),
        (Instance().send, "tests.targets.test_factory.Instance.send"),
        (PythonTarget(object="a:b"), "a:b"),
        ("a:b", "a:b"),
    ],
)
def test_what_can_be_a_target_is_named_after_itself(value: object, name: str) -> None:
    assert as_target(value).name == name


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None can't be a target: give a function"),
        (42, "builtins.int can't be a target: give a function"),
        (SimpleNamespace(answer=shout), "types.SimpleNamespace can't be a target"),
        ("hello", "`hello` names no object"),
    ],
)
def test_what_cannot_be_a_target_is_told_at_once(value: object, words: str) -> None:
    with pytest.raises(TargetStartError) as caught:
        as_target(value)
    assert words in str(caught.value)


def test_a_coroutine_is_not_a_function() -> None:
    async def agent(message: str) -> str:
        return message

    coroutine = agent("hello")
    with pytest.raises(TargetStartError, match="give the function, without calling it"):
        as_target(coroutine)
    coroutine.close()


def test_httpx_is_imported_for_http_targets_only() -> None:
    code = (
        "import sys, pytest_convoprobe.targets.factory as factory; factory.as_target(print); "
        "sys.exit(any(name in sys.modules for name in ('httpx', 'jinja2', 'jmespath', 'litellm')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_factory_of_an_adk_agent_makes_one_for_each_conversation(
    tmp_path: Path, context: Context
) -> None:
    (tmp_path / "shop.py").write_text(
        "class Agent:\n    def send(self, message): return 'ours: ' + message\n"
        "def create_agent(): return Agent()\ndef answer(message): return message\n"
    )
    target = build_target(AdkTarget(factory="shop.py"), rootdir=tmp_path)
    assert target.name == "shop.py:create_agent"
    conversation = await target.start(context())
    assert (await conversation.send("hello")).text == "ours: hello"
    await conversation.aclose()
    wrong = build_target(AdkTarget(factory="shop.py:answer"), rootdir=tmp_path)
    with pytest.raises(TargetStartError, match="has to be a function without parameters that makes an agent"):
        await wrong.start(context())


async def test_a_plain_function_has_no_use_for_the_context_of_the_projects_own_target(
    context: Context, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text("def make(): return {}\n")
    project = PythonTarget(object="shop.py:agent", context="shop.py:make")
    assert await first_reply(as_target(shout, rootdir=tmp_path, like=project), context) == "HELLO"


async def test_a_context_that_cannot_be_made_is_named(context: Context) -> None:
    def make() -> object:
        raise KeyError("no table of users")

    with pytest.raises(TargetStartError, match=r"`target\.context` failed: KeyError"):
        await MakesOptions(context(), make).make()
