"""Agents of known frameworks: recognised by the modules of their classes, and never called by a guess.

Most of them begin a new conversation with each call. So an agent that is called like a function answers
without memory, and its scenarios may pass all the same. For some there is an adapter (see `adapters`), which
keeps the history the way the framework wants it; for the others, the table has a wrapper that does so.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_BY_HISTORY = """\
def answer(message, history):  # history: earlier {"role": …, "content": …}
    ...  # hand both to the agent"""


@dataclass(frozen=True)
class Framework:
    """A library with agents of its own.

    `modules` are the dotted names that its classes' modules begin with; `*` at their end is for more letters.
    `adapted` says what its adapter takes, if it has one. `wrapper` is a target that keeps the history of a
    conversation. Classes named in `remember` keep it themselves: their methods may be named explicitly.
    `marks` are names in the top module, where another package may have the same name.
    """

    name: str
    modules: tuple[str, ...]
    wrapper: str = _BY_HISTORY
    remember: tuple[str, ...] = ()
    adapted: str = ""
    marks: tuple[str, ...] = ()

    def has(self, kind: type) -> bool:
        """Whether a class is one of this framework's own."""
        return self.has_module(kind.__module__)

    def has_module(self, name: str) -> bool:
        """Whether a module is one of this framework's own."""
        module = f"{name}."
        beginnings = (name[:-1] if name.endswith("*") else f"{name}." for name in self.modules)
        if not module.startswith(tuple(beginnings)):
            return False
        top = sys.modules.get(module.partition(".")[0])
        return all(hasattr(top, mark) for mark in self.marks)


FRAMEWORKS = (
    Framework("PydanticAI", ("pydantic_ai",), adapted="the `Agent`"),
    Framework("smolagents", ("smolagents",), adapted="the `ToolCallingAgent` or `CodeAgent`"),
    Framework(
        "LangGraph", ("langgraph",), adapted="the compiled graph (`create_agent(…)`, `StateGraph.compile()`)"
    ),
    Framework(
        "LangChain",
        ("langchain", "langchain_*"),
        """\
async def answer(message, history):
    return await chain.ainvoke([*history, {"role": "user", "content": message}])""",
    ),
    Framework("CrewAI", ("crewai",), adapted="the `Crew` or the `Agent`"),
    Framework("OpenAI Agents SDK", ("agents",), adapted="the `Agent`", marks=("Runner",)),
    Framework(
        "LlamaIndex",
        ("llama_index",),
        """\
class Conversation:
    def __init__(self):
        self.context = Context(agent)

    async def __call__(self, message):
        return str(await agent.run(message, ctx=self.context))""",
        remember=("BaseChatEngine",),
    ),
    Framework(
        "AutoGen",
        ("autogen", "autogen_*", "ag2"),
        """\
class Conversation:
    def __init__(self):
        self.agent = make_agent()  # one for each conversation

    async def __call__(self, message):
        result = await self.agent.run(task=message)
        return result.messages[-1].content""",
    ),
    Framework(
        "Haystack",
        ("haystack",),
        """\
class Conversation:
    def __init__(self):
        self.messages = []

    def __call__(self, message):
        self.messages.append(ChatMessage.from_user(message))
        self.messages = agent.run(messages=self.messages)["messages"]
        return self.messages[-1].text""",
    ),
    Framework(
        "DSPy",
        ("dspy",),
        """\
class Conversation:
    def __init__(self):
        self.history = dspy.History(messages=[])

    def __call__(self, message):
        result = program(question=message, history=self.history)
        self.history.messages.append({"question": message, **result})
        return result.answer""",
    ),
    Framework("Google ADK", ("google.adk",), adapted="the agent, the `App` or the `Runner`"),
    Framework("Strands", ("strands",), adapted="the `Agent`"),
    Framework(
        "Agno",
        ("agno",),
        """\
class Conversation:
    def __init__(self):
        self.agent = Agent(..., db=InMemoryDb(), add_history_to_context=True)

    def __call__(self, message):
        return self.agent.run(message).content""",
    ),
    Framework(
        "Semantic Kernel",
        ("semantic_kernel",),
        """\
class Conversation:
    def __init__(self):
        self.thread = None

    async def __call__(self, message):
        response = await agent.get_response(messages=message, thread=self.thread)
        self.thread = response.thread
        return str(response)""",
    ),
    Framework(
        "Microsoft Agent Framework",
        ("agent_framework",),
        """\
class Conversation:
    def __init__(self):
        self.thread = agent.get_new_thread()

    async def __call__(self, message):
        return str(await agent.run(message, thread=self.thread))""",
    ),
    # Clients of models, pipelines and smaller libraries: each keeps the history in its own way, if at all.
    *(
        Framework(name, modules)
        for name, modules in (
            ("CAMEL", ("camel",)),
            ("Griptape", ("griptape",)),
            ("Langroid", ("langroid",)),
            ("Letta", ("letta", "letta_client")),
            ("Marvin", ("marvin", "controlflow")),
            ("Mirascope", ("mirascope",)),
            ("Swarm", ("swarm", "agency_swarm")),
            ("AgentScope", ("agentscope",)),
            ("BeeAI", ("beeai_framework",)),
            ("Atomic Agents", ("atomic_agents",)),
            ("Transformers", ("transformers",)),
            ("llama.cpp", ("llama_cpp",)),
            ("vLLM", ("vllm",)),
            ("Google Gen AI", ("google.genai", "google.generativeai", "vertexai")),
            ("OpenAI", ("openai",)),
            ("Anthropic", ("anthropic",)),
            ("Cohere", ("cohere",)),
            ("Mistral", ("mistralai",)),
            ("Ollama", ("ollama",)),
            ("Instructor", ("instructor",)),
        )
    ),
)


def own_answering(agent: object, methods: tuple[str, ...]) -> Callable[..., Any] | None:
    """The method for messages that the project has written itself, on top of a framework's class.

    A `run` in place of the framework's own `run` is not one: it takes what the framework's takes, and called
    with a message alone it forgets the conversation.
    """
    for name in methods:
        owners = [kind for kind in type(agent).__mro__ if name in kind.__dict__]
        overrides = name == "run" and any(map(framework_of_class, owners))
        if owners and framework_of_class(owners[0]) is None and not overrides:
            found = getattr(agent, name)
            return found if callable(found) else None
    return None


def framework_of(agent: object) -> Framework | None:
    """The framework that an object belongs to, also by a base of its class."""
    return next(_frameworks(type(agent)), None)


def refused_function(agent: object) -> Framework | None:
    """The framework of a function, or a bound method, that starts a new conversation with each call."""
    plain = agent
    while isinstance(plain, functools.partial):
        plain = plain.func
    if not inspect.ismethod(plain):
        return _framework_of_function(plain)
    # Of a class method, such as `Runner.run`, the owner is a class.
    owner = plain.__self__ if isinstance(plain.__self__, type) else type(plain.__self__)
    found = next(_frameworks(owner), None)
    if found is None or framework_of_class(_defining(owner, plain)) is None:
        return None
    return None if any(kind.__name__ in found.remember for kind in owner.__mro__) else found


def _framework_of_function(function: object) -> Framework | None:
    # A decorator of a framework gives a function that is local to it, around one of the project's.
    if not inspect.isfunction(function) or "<locals>" in function.__qualname__:
        return None
    # The project may have a file with the name of a framework, but a framework is a package.
    top = sys.modules.get(function.__module__.partition(".")[0])
    if not hasattr(top, "__path__"):
        return None
    return next((one for one in FRAMEWORKS if one.has_module(function.__module__)), None)


def _defining(kind: type, method: Any) -> type:
    """The class that has the method in its body."""
    return next((base for base in kind.__mro__ if method.__name__ in base.__dict__), kind)


def framework_of_class(kind: type) -> Framework | None:
    """The framework whose own class this is."""
    return next((framework for framework in FRAMEWORKS if framework.has(kind)), None)


def _frameworks(kind: type) -> Iterator[Framework]:
    found = map(framework_of_class, kind.__mro__)
    yield from (framework for framework in found if framework is not None)


def complaint(framework: Framework) -> str:
    """Why an object of the framework isn't called, and what to give instead."""
    if framework.adapted:
        return (
            f"it belongs to {framework.name}, but isn't an agent that can be talked with. Give "
            f"{framework.adapted} itself, or a function without parameters that makes one"
        )
    return (
        f"it belongs to {framework.name}, and called with each message alone it may forget the conversation. "
        f"Give a target that keeps the history, such as\n\n{framework.wrapper}"
    )
