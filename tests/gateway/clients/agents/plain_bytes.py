"""Without any SDK: what comes over the wire, byte by byte; every second answer as a stream."""

import json
import os
import urllib.request

from seen import Seen


class Agent:
    def __init__(self):
        self.messages = []
        self.seen = Seen()

    def reply(self, message):
        self.messages.append({"role": "user", "content": message})
        stream = len(self.messages) % 4 == 1
        body = {"model": "gpt-4o-mini", "messages": self.messages, "stream": stream}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
        )
        with urllib.request.urlopen(request) as answer:
            got = answer.read()
        self.seen(got)
        text = streamed(got) if stream else json.loads(got)["choices"][0]["message"]["content"]
        self.messages.append({"role": "assistant", "content": text})
        return text


def streamed(got):
    events = [line[6:] for line in got.decode().splitlines() if line.startswith("data: {")]
    chunks = [json.loads(event)["choices"] for event in events]
    return "".join(chunk[0]["delta"].get("content") or "" for chunk in chunks if chunk)
