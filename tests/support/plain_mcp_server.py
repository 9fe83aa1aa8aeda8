"""An MCP server in plain JSON-RPC over stdin and stdout, which starts fast and misbehaves as it is asked to.

`python plain_mcp_server.py [WORD…]`. Words: `silent` answers nothing, `dies` ends at once, `stays` ignores
that its input ends and SIGTERM, `chatty` writes lines that are no messages, `empty` lists no tools, `refuses`
answers the question for them with an error, `child` leaves a process behind, `pid:FILE` appends its process
id to a file. A call of one of its tools does what the name says.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, TextIO

WORDS = sys.argv[1:]
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"type": "integer", "x-unit": None}, "b": {"$ref": "#/$defs/b"}},
    "$defs": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["a"],
    "additionalProperties": False,
}
PLAIN = {"type": "object"}
TOOLS = {
    "add": ("Add two numbers.", SCHEMA),
    "count": ("How often it was called in this process.", PLAIN),
    "fail": ("Fails.", PLAIN),
    "die": ("Ends the server.", PLAIN),
    "hang": ("Never answers.", PLAIN),
    "env": ("Names and values of the environment.", PLAIN),
    "long": ("A long text.", PLAIN),
    "ask": ("Asks the user, and a model.", PLAIN),
    "halved": ("A text that was cut within a letter.", PLAIN),
    "garbled": ("Answers with something else than a result.", PLAIN),
    "shop.find": ("A name that models can't say.", PLAIN),
}
COUNT = 0


def write(line: str, to: TextIO = sys.stdout) -> None:
    to.write(f"{line}\n")
    to.flush()


def say(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    global COUNT
    COUNT += 1
    if name == "add":
        return text(str(arguments["a"] + (arguments.get("b") or 0)))
    if name == "count":
        return text(str(COUNT))
    if name == "fail":
        return text("no such order", isError=True)
    if name == "die":
        write("::error::out of cheese, key " + os.environ.get("SHOP_KEY", ""), sys.stderr)
        os._exit(3)
    if name == "env":
        return text(json.dumps(dict(os.environ)))
    if name == "ask":
        form = {"message": "Which size?", "requestedSchema": {"type": "object", "properties": {}}}
        prompt = {"role": "user", "content": {"type": "text", "text": "Write a poem."}}
        sampling = {"messages": [prompt], "systemPrompt": "Rhyme.", "maxTokens": 9}
        return text(
            json.dumps([asked("elicitation/create", form), asked("sampling/createMessage", sampling)])
        )
    if name == "halved":
        return text("fine \ud83d")
    if name == "long":
        return text("x" * 5000)
    return None if name == "hang" else text("found")


def asked(method: str, params: dict[str, Any]) -> Any:
    """What the client answers to a request of ours."""
    say({"id": f"own-{method}", "method": method, "params": params})
    for line in sys.stdin:
        answered = json.loads(line)
        if answered.get("id") == f"own-{method}":
            return answered.get("result") or "refused"
    return None


def listed(cursor: str | None) -> dict[str, Any]:
    """Two pages."""
    names = [] if "empty" in WORDS else list(TOOLS)
    page = names[4:] if cursor else names[:4]
    tools = [{"name": one, "description": TOOLS[one][0], "inputSchema": TOOLS[one][1]} for one in page]
    return {"tools": tools} if cursor or not names else {"tools": tools, "nextCursor": "2"}


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        version = {"name": "plain", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": version}
    if method == "tools/list" and "refuses" not in WORDS:
        return listed(params.get("cursor"))
    if method == "tools/call" and params["name"] == "garbled":
        say({"id": request["id"], "result": "fine"})
        return None
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    say({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
    return None


def misbehave() -> None:
    for word in WORDS:
        if word.startswith("pid:"):
            with open(word[4:], "a") as file:
                file.write(f"{os.getpid()}\n")
    if "child" in WORDS:
        own = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
        name = f"left-behind-{next((word[4:] for word in WORDS if word.startswith('pid:')), '')}"
        subprocess.Popen([sys.executable, "-S", "-c", own, name], start_new_session=True)
    if "stays" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "chatty" in WORDS:
        write("Listening on stdio")
    if "dies" in WORDS:
        sys.exit("no licence\x1b[31m")


def main() -> None:
    misbehave()
    for line in sys.stdin:
        request = json.loads(line)
        if "silent" not in WORDS and "id" in request and "method" in request:
            result = answer(request)
            if result is not None:
                say({"id": request["id"], "result": result})
    if "stays" in WORDS:
        time.sleep(300)


if __name__ == "__main__":
    main()
