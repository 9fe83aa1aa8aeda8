"""Scenario files that are good, and ones with a mistake that must be told, shared by the tests."""

from __future__ import annotations

from dataclasses import dataclass

MINIMAL = """\
name: Greeting
description: The agent greets back.
synthetic_user:
  persona: Someone who likes a chat
  initial_query: Good morning!
evaluation:
  correctness_criteria:
    - The agent greets the user
"""

FULL = """\
name: Trip to the coast
description: |
  The agent finds out what is missing
  and plans a trip.

config:
  judge:
    extra_instructions: |
      "Next week" begins on Monday.
  synthetic_user:
    model: openai/gpt-4o-mini
    temperature: 0.2

synthetic_user:
  persona: |
    A parent of two who plans in a hurry
    and leaves things out.
  initial_query: "Where can we go?"
  max_turns: 8
  clarification_behavior:
    known_facts:
      - "We live in Lyon"
      - "We have one week"
    unknown_facts:
      - "The exact budget"
    traits:
      patience: low
      verbosity: verbose
      expertise: intermediate

evaluation:
  correctness_criteria:
    - "The agent asks where the trip starts"
    - "The agent names a place at the sea"
  failure_criteria:
    - "The agent books without asking"
  tool_usage:
    required_tools:
      - search_trips
    optional_tools: [get_weather]
    prohibited_tools:
      - book_trip
    tool_call_criteria:
      - tool: search_trips
        assertions:
          - "Called with 'Lyon' or its airport"
      - tool: get_weather
  efficiency:
    max_tool_calls: 5
    max_llm_tokens: 8000
    max_conversation_turns: null

tags:
  - travel
  - clarification
"""

JUDGE_OVERRIDE = """\
name: Strict
description: The judge is told to be strict.
config:
  judge:
    extra_instructions: |
      Close is not good enough.
    model: openai/gpt-4o
  synthetic_user: null
synthetic_user: {persona: Precise, initial_query: "Forecast for 43.3, 5.4"}
evaluation: {correctness_criteria: [The tool gets both numbers]}
"""

SKIPPED = MINIMAL + 'skip: "Waits for the new search"\n'
SKIPPED_WITHOUT_EVALUATION = MINIMAL.split("evaluation:")[0] + "skip: true\n"

SCRIPTED = """\
name: Change of mind
description: The user changes the order twice.
synthetic_user:
  persona: Someone who can't decide
  initial_query: I'd like the red one.
  max_turns: 6
  script:
    - No, the blue one.
    - simulate: 2
      instruction: Ask about the price.
    - simulate: until_done
  landmarks:
    - {turn: 1, instruction: You have a voucher}
    - turn: 4
      instruction: Say that you are in a hurry
evaluation:
  correctness_criteria: [The order is for the blue one]
  tool_usage:
    tool_call_criteria:
      - tool: update_order
        assertions:
          - The colour is the last one that was named
          - {times: 2, before: confirm_order, after: find_order}
          - at_least: 1
            at_most: 3
            by_turn: 3
            not_before_turn: 2
            every: true
            args:
              order_id: A-1001
              price: 12.5
              gift: null
              colours: [red, blue]
              address.city: {contains: Oslo}
              note: {matches: "^blue", contains: u, not_contains: x, not_matches: "^red"}
              amount: {at_least: 1, below: 90.5}
              discount: {above: 0, at_most: 10, not_equals: 5}
              size: {one_of: [S, M, 42]}
              address: {city: Oslo, zip: {matches: "^0"}, region: {name: East}}
              $ref: {"filters[]": x}
              range: {includes: {min: 1, max: {at_most: 5}}}
              items: {includes: [{sku: B-7}, toaster]}
metadata: {owner: shop, ticket: 17, nested: {since: 2024-01-31}}
"""

ALONE = MINIMAL.split("  correctness_criteria:")[0] + "  "

REPLIES = """\
name: Words
description: Checks of what the agent says.
synthetic_user:
  persona: Someone
  initial_query: Hello
  max_turns: 4
evaluation:
  replies:
    - contains: A-1001
    - {contains: [Oslo, "54 €"], not_contains: password, turn: all, ignore_case: true}
    - {matches: "^Hi", turn: 1}
    - {not_matches: "(?i)sorry", turn: [1, 4]}
    - {equals: "You're welcome!", turn: last}
    - {json: true}
    - {json: {status: shipped, items.0.price: {at_most: 90}, address: {city: Oslo}}, turn: any}
    - {language: de}
    - {language: [nb, nn], turn: last}
    - {language: {one_of: [de], among: [de, en]}}
    - {length: {characters: {at_most: 500}, words: {at_least: 1, at_most: 80}}}
"""


def _reply(text: str) -> str:
    return _evaluation(f"replies: [{text}]")


def changed(old: str, new: str) -> str:
    """The minimal scenario with one thing changed."""
    assert old in MINIMAL
    return MINIMAL.replace(old, new, 1)


def _user(line: str) -> str:
    return changed("  initial_query: Good morning!\n", f"  initial_query: Good morning!\n  {line}\n")


VALID = {
    "replies": REPLIES,
    "minimal": MINIMAL,
    "full": FULL,
    "judge override": JUDGE_OVERRIDE,
    "skipped": SKIPPED,
    "skipped without evaluation": SKIPPED_WITHOUT_EVALUATION,
    "skipped and empty user": "name: Later\nskip: true\nsynthetic_user: {}\n",
    "scripted": SCRIPTED,
    "gate": MINIMAL + 'gate: {mode: quarantine, expires: 2027-01-31, reason: "#123", first: 3}\n',
    "the agent first": changed("  initial_query: Good morning!\n", "  first: agent\n  max_turns: 3\n"),
    "the agent first, then a message": _user("first: agent"),
    "history": _user(
        "history: [{user: a}, {agent: b, tool_calls: [{name: f, arguments: {x: 1}, result: {y: 2}}]}, "
        "{tool_calls: [{name: g, error: down}]}]"
    ),
    "history of OpenAI": _user(
        "history: [{role: user, content: a}, {role: assistant, content: null, tool_calls: "
        "[{id: c, function: {name: f, arguments: '{}'}}]}, {role: tool, tool_call_id: c, content: x}]"
    ),
    "checks of the greeting": _user("first: agent") + "  replies: [{contains: a, turn: 0}]\n",
    "gate without a mode": MINIMAL + "gate: {first: 2}\n",
    "a list of calls": ALONE
    + "tool_usage: {expected_calls: {order: subset, calls: [a, {tool: b, args: {i: {same_items: [1]}}}]}}\n",
    "no calls at all": ALONE + "tool_usage: {expected_calls: {calls: []}}\n",
    "own checks": ALONE + "checks: ['shop.checks:cancelled', 'checks.py:Order.is_there']\n",
    "code alone": ALONE + "tool_usage: {required_tools: [t]}\n",
    "code alone with an empty list": ALONE + "efficiency: {max_tool_calls: 1}\n  correctness_criteria: []\n",
    "code alone by an assertion": ALONE
    + "tool_usage: {tool_call_criteria: [{tool: t, assertions: [{times: 1}]}]}\n",
    "not skipped": MINIMAL + "skip: false\nconfig: null\n",
}


@dataclass(frozen=True)
class Wrong:
    """A file with mistakes: `place` and `words` are of the one it is about.

    `schema` says whether a JSON Schema can tell it too.
    """

    text: str
    place: str
    words: str
    schema: bool = True


def _criterion(line: str) -> str:
    return changed("    - The agent greets the user\n", f"    {line}\n")


def _evaluation(line: str) -> str:
    return MINIMAL + f"  {line}\n"


def _assertion(text: str) -> str:
    return _evaluation(f"tool_usage: {{tool_call_criteria: [{{tool: t, assertions: [{text}]}}]}}")


CALL = "{id: c, function: {name: f}}"
RESULT = "{role: tool, tool_call_id: c, content: x}"

INVALID = {
    "a turn after the last": Wrong(
        _assertion("{by_turn: 11}"),
        "9:70",
        "tool_call_criteria[0].assertions[0].by_turn: turn 11 never comes: `max_turns` is 10",
        schema=False,
    ),
    "a turn after the script": Wrong(
        _user("script: [Bye]")
        + "  tool_usage: {tool_call_criteria: [{tool: t, assertions: [{in_turn: 3}]}]}\n",
        "10:70",
        "turn 3 never comes: the script ends with turn 2",
        schema=False,
    ),
    "not before the first turn": Wrong(
        _assertion("{not_before_turn: 1}"), "9:78", "comes before turn 1: write 2 or more", schema=False
    ),
    "no first message": Wrong(
        changed("  initial_query: Good morning!\n", ""), "3:1", "initial_query: this key is required"
    ),
    "nothing as the first message": Wrong(
        changed("  initial_query: Good morning!\n", "  first: agent\n  initial_query:\n"),
        "6:17",
        "must be text",
    ),
    "nobody speaks first": Wrong(_user("first: nobody"), "6:10", "must be one of `user`, `agent`"),
    "a role that is a list": Wrong(
        _user("history: [{role: [user], content: a}]"), "6:20", "must be user, assistant or tool, got a list"
    ),
    "a call without an id": Wrong(
        _user("history: [{role: assistant, tool_calls: [{function: {name: f}}]}, {role: user, content: a}]"),
        "6:44",
        "a call has an `id`, and a `function`",
        schema=False,
    ),
    "an id that is a list": Wrong(
        _user(f"history: [{{role: assistant, tool_calls: [{CALL.replace('id: c', 'id: [c]')}]}}]"),
        "6:44",
        "a call has an `id`, and a `function`",
        schema=False,
    ),
    "two calls of one id": Wrong(
        _user(f"history: [{{role: assistant, tool_calls: [{CALL}, {CALL}]}}, {RESULT}]"),
        "6:44",
        "another call or result has the same `id`",
        schema=False,
    ),
    "two results of one call": Wrong(
        _user(f"history: [{{role: assistant, tool_calls: [{CALL}]}}, {RESULT}, {RESULT}]"),
        "6:44",
        "another call or result has the same `id`",
        schema=False,
    ),
    "a result of no call": Wrong(
        _user(f"history: [{RESULT}]"), "6:40", "no message has a call with this `id`", schema=False
    ),
    "a call of the user": Wrong(
        _user(f"history: [{{role: user, content: a, tool_calls: [{CALL}]}}, {RESULT}]"),
        "6:50",
        "only the agent calls tools",
        schema=False,
    ),
    "a call in the old form": Wrong(
        _user("history: [{role: assistant, content: a, function_call: {name: f, arguments: '{}'}}]"),
        "6:58",
        "write `tool_calls` and a message with the role `tool` instead",
        schema=False,
    ),
    "history of both sides at once": Wrong(
        _user("history: [{user: a, agent: b}]"), "6:30", "a message is of one side", schema=False
    ),
    "history of nobody": Wrong(_user("history: [{}]"), "6:13", "this has no message", schema=False),
    "history with calls of the user": Wrong(
        _user("history: [{user: a, tool_calls: [{name: f}]}]"),
        "6:35",
        "only the agent calls tools",
        schema=False,
    ),
    "history with two ends of a call": Wrong(
        _user("history: [{tool_calls: [{name: f, result: 1, error: x}]}]"), "6:55", "not both", schema=False
    ),
    "history with a system prompt": Wrong(
        _user("history: [{role: system, content: a}]"), "6:20", "must be user, assistant or tool"
    ),
    "history with a call without a result": Wrong(
        _user("history: [{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: '{}'}}]}]"),
        "6:44",
        "no message with the role `tool` has the result of this call",
        schema=False,
    ),
    "targets in a scenario": Wrong(
        MINIMAL + "targets: [mini]\n", "9:1", "targets: this key belongs in the settings (convoprobe.yaml)"
    ),
    "target in a scenario": Wrong(
        MINIMAL + "target: mini\n", "9:1", "target: this key belongs in the settings (convoprobe.yaml)"
    ),
    "history at the top": Wrong(MINIMAL + "history: [{user: a}]\n", "9:1", "belongs in `synthetic_user`"),
    "in and by a turn": Wrong(
        _assertion("{in_turn: 2, by_turn: 2}"), "9:70", "give `in_turn` or `by_turn`", schema=False
    ),
    "a turn before the first one": Wrong(
        _assertion("{by_turn: 2, not_before_turn: 3}"), "9:70", "no call may come before turn 3", schema=False
    ),
    "any number by a turn": Wrong(
        _assertion("{at_least: 0, by_turn: 2}"), "9:71", "this asserts nothing", schema=False
    ),
    "an empty list of calls": Wrong(
        ALONE + "tool_usage: {expected_calls: {order: in_order, calls: []}}\n",
        "7:57",
        "with `in_order` an empty list says nothing",
        schema=False,
    ),
    "an unknown order": Wrong(
        ALONE + "tool_usage: {expected_calls: {order: sorted, calls: [a]}}\n",
        "7:40",
        "must be one of `strict`, `in_order`, `unordered`, `superset`, `subset`",
    ),
    "a prohibited call": Wrong(
        ALONE + 'tool_usage: {prohibited_tools: ["a*"], expected_calls: {calls: [b, {tool: ab}]}}\n',
        "7:77",
        "expected_calls.calls[1].tool: `ab` is prohibited, by `a*` in `prohibited_tools`",
        schema=False,
    ),
    "no list of items": Wrong(
        _assertion("{args: {ids: {same_items: 3}}}"), "9:86", "same_items: must be a list, got the number 3"
    ),
    "items in any order by another name": Wrong(
        _assertion("{args: {ids: {any_order: [1]}}}"), "9:74", "did you mean `same_items`?"
    ),
    "a check that is no reference": Wrong(
        ALONE + "checks: [cancelled]\n", "7:12", "`cancelled` names no object: write", schema=False
    ),
    "a check twice": Wrong(
        ALONE + "checks: ['a:b', 'a:b']\n", "7:19", "`a:b` is there already", schema=False
    ),
    "neither criteria nor checks": Wrong(
        ALONE + "tool_usage: {optional_tools: [t]}\n", "6:1", "code decides everything, by `tool_usage`"
    ),
    "only what must not be": Wrong(
        ALONE + "failure_criteria: [The agent lies]\n  efficiency: {max_tool_calls: 1}\n",
        "6:1",
        "A scenario that asks the judge says what must be",
    ),
    "only a sentence about a tool": Wrong(
        ALONE + "tool_usage: {tool_call_criteria: [{tool: t, assertions: [{times: 1}, Is called]}]}\n",
        "6:1",
        "A scenario that asks the judge says what must be",
    ),
    "no limit at all": Wrong(ALONE + "efficiency: {max_tool_calls: null}\n", "6:1", "this key is required"),
    # The seven rules of the format.
    "no name": Wrong(changed("name: Greeting\n", ""), "1:1", "name: this key is required"),
    "no description": Wrong(
        changed("description: The agent greets back.\n", ""), "1:1", "description: this key is required"
    ),
    "no persona": Wrong(
        changed("  persona: Someone who likes a chat\n", ""),
        "3:1",
        "synthetic_user.persona: this key is required",
    ),
    "no initial query": Wrong(
        changed("  initial_query: Good morning!\n", ""),
        "3:1",
        "synthetic_user.initial_query: this key is required",
    ),
    "no criteria": Wrong(
        MINIMAL.replace(
            "  correctness_criteria:\n    - The agent greets the user\n", "  failure_criteria: []\n"
        ),
        "6:1",
        "evaluation.correctness_criteria: this key is required",
    ),
    "blank name": Wrong(changed("Greeting", '"  "'), "1:7", "name: must not be empty"),
    "empty description": Wrong(
        changed("The agent greets back.", '""'), "2:14", "description: must not be empty"
    ),
    "blank persona": Wrong(changed("Someone who likes a chat", "' '"), "4:12", "persona: must not be empty"),
    "no turns": Wrong(_user("max_turns: 0"), "6:14", "max_turns: must be from 1 to 100, got the number 0"),
    "many turns": Wrong(
        _user("max_turns: 101"), "6:14", "max_turns: must be from 1 to 100, got the number 101"
    ),
    "empty criteria": Wrong(
        MINIMAL.replace(":\n    - The agent greets the user\n", ": []\n"),
        "7:25",
        "at least one item is needed",
    ),
    "patience": Wrong(
        _user("clarification_behavior: {traits: {patience: hight}}"),
        "6:47",
        'traits.patience: must be one of `low`, `medium`, `high`, got the text "hight"; did you mean `high`?',
    ),
    "empty tool": Wrong(
        _evaluation('tool_usage: {tool_call_criteria: [{tool: ""}]}'), "9:44", "[0].tool: must not be empty"
    ),
    "empty reason": Wrong(MINIMAL + 'skip: ""\n', "9:7", "skip: must be true, false or a reason"),
    "number as skip": Wrong(MINIMAL + "skip: 3\n", "9:7", "got the number 3"),
    "quarantine without an end": Wrong(
        MINIMAL + 'gate: {mode: quarantine, reason: "#1"}\n', "9:7", "a quarantine needs `expires`"
    ),
    "quarantine without a reason": Wrong(
        MINIMAL + "gate: {mode: quarantine, expires: 2027-01-31}\n", "9:7", "a quarantine needs `reason`"
    ),
    "a day that does not exist": Wrong(
        MINIMAL + "gate: {mode: report, expires: 2027-02-30}\n",
        "9:31",
        "gate.expires: must be a day that exists",
        schema=False,
    ),
    "a date in words": Wrong(
        MINIMAL + "gate: {mode: report, expires: next week}\n", "9:31", "must be a date such as 2027-01-31"
    ),
    "an end of nothing": Wrong(MINIMAL + "gate: {expires: 2027-01-31}\n", "9:17", "has nothing that expires"),
    "a mode of the gate that is none": Wrong(
        MINIMAL + "gate: {mode: reports}\n", "9:14", "did you mean `report`"
    ),
    # Keys.
    "misspelt key": Wrong(
        changed("initial_query", "inital_query"), "5:3", "unknown key; did you mean `initial_query`?"
    ),
    "camel case": Wrong(changed("initial_query", "initialQuery"), "5:3", "did you mean `initial_query`?"),
    "key of another section": Wrong(
        MINIMAL + "persona: A baker\n", "9:1", "persona: this key belongs in `synthetic_user`"
    ),
    "unknown key": Wrong(
        MINIMAL + "colour: red\n", "9:1", "colour: unknown key. Valid here: name, description,"
    ),
    # Types, and what YAML makes of unquoted text.
    "criteria as text": Wrong(
        MINIMAL.replace(":\n    - The agent greets", ": The agent greets"),
        "7:25",
        "must be a list, got the text",
    ),
    "criteria as nothing": Wrong(
        MINIMAL.replace("    - The agent greets the user\n", ""),
        "7:24",
        "must be a list, got nothing; give it items",
    ),
    "section as list": Wrong(
        MINIMAL.split("evaluation")[0] + "evaluation:\n  - x\n", "7:3", "must be a mapping with the keys corr"
    ),
    "colon in criterion": Wrong(
        _criterion("- The agent says: hello"), "8:7", "put it in quotes: 'The agent says: hello'"
    ),
    "colon in assertion": Wrong(
        _assertion("Called with: the city"), "9:60", "put it in quotes: 'Called with: the city'"
    ),
    "yes": Wrong(
        _criterion("- yes"), "8:7", 'got the boolean `yes`; put it in quotes if you mean the text: "yes"'
    ),
    "number as text": Wrong(MINIMAL + "tags: [007]\n", "9:8", "got the number 007; put it in quotes if"),
    "empty item": Wrong(_criterion("-"), "8:6", "got nothing; give it a text, or leave the line out"),
    "quoted number": Wrong(_user('max_turns: "5"'), "6:14", 'must be a whole number, got the text "5"'),
    "fraction": Wrong(_user("max_turns: 2.5"), "6:14", "must be a whole number, got the number 2.5"),
    "boolean as number": Wrong(
        _user("max_turns: on"), "6:14", "must be a whole number, got the boolean `on`"
    ),
    "quoted boolean": Wrong(MINIMAL + 'skip: "false"\n', "9:7", "in quotes is a text and not a boolean"),
    "hot": Wrong(
        MINIMAL + "config: {judge: {temperature: 2.1}}\n", "9:31", "must be from 0 to 2, got the number 2.1"
    ),
    "negative limit": Wrong(
        _evaluation("efficiency: {max_tool_calls: -1}"), "9:32", "must be at least 0, got the number -1"
    ),
    # Ours.
    "landmark too late": Wrong(
        _user("landmarks: [{turn: 11, instruction: x}]"),
        "6:22",
        "landmarks[0].turn: turn 11 never comes: `max_turns` is 10",
        schema=False,
    ),
    "landmark on turn 0": Wrong(_user("landmarks: [{turn: 0, instruction: x}]"), "6:22", "from 1 to 100"),
    "two landmarks": Wrong(
        _user("landmarks: [{turn: 2, instruction: x}, {turn: 2, instruction: y}]"),
        "6:49",
        "turn 2 has a landmark already",
        schema=False,
    ),
    "landmark on a literal turn": Wrong(
        _user("landmarks: [{turn: 3, instruction: x}]\n  script: [{simulate: 1}, Hello]"),
        "6:22",
        "turn 3 is a literal message of the script",
        schema=False,
    ),
    "landmark after the script": Wrong(
        _user("landmarks: [{turn: 4, instruction: x}]\n  script: [{simulate: 1}, Hello]"),
        "6:22",
        "turn 4 never comes: the script ends with turn 3",
        schema=False,
    ),
    "long script": Wrong(
        _user("max_turns: 4\n  script: [a, {simulate: 2}, {simulate: until_done}]"),
        "7:11",
        "the script needs 5 turns",
        schema=False,
    ),
    "after until_done": Wrong(
        _user("script: [{simulate: until_done}, Bye]"), "6:36", "nothing can follow", schema=False
    ),
    "simulate what": Wrong(
        _user("script: [{simulate: forever}]"),
        "6:23",
        "must be a number of turns (from 1 to 99) or `until_done`",
    ),
    "simulate nothing": Wrong(
        _user("script: [{simulate: 0}]"), "6:23", "(from 1 to 99) or `until_done`, got"
    ),
    "script item": Wrong(_user("script: [[a]]"), "6:12", "script[0]: must be text or a mapping, got a list"),
    "asserts nothing": Wrong(_assertion("{}"), "9:60", "this asserts nothing"),
    "no assertions": Wrong(
        _evaluation("tool_usage: {tool_call_criteria: [{tool: t, assertions: []}]}"),
        "9:59",
        "an empty list asserts nothing",
        schema=False,
    ),
    "at least none": Wrong(_assertion("{at_least: 0}"), "9:71", "this asserts nothing", schema=False),
    "no condition": Wrong(
        _assertion("{times: 1, args: {}}"),
        "9:77",
        "this has no condition, so it asserts nothing",
        schema=False,
    ),
    "contains an empty text": Wrong(
        _assertion('{args: {a: {contains: ""}}}'), "9:82", "every text has an empty part", schema=False
    ),
    "an invisible criterion": Wrong(
        _criterion('- "\\u200b"'), "8:7", "this text only has invisible ones", schema=False
    ),
    "a criterion of dots": Wrong(_criterion('- "..."'), "8:7", "must say something in words", schema=False),
    "an assertion of dashes": Wrong(_assertion('"--"'), "9:60", "must say something in words", schema=False),
    "an invisible tool": Wrong(
        _evaluation('tool_usage: {prohibited_tools: ["\\ufeff"]}'), "9:35", "only has invisible", schema=False
    ),
    "no as skip": Wrong(MINIMAL + "skip: n\n", "9:7", "write `skip: true` or `skip: false`"),
    "zero as skip": Wrong(MINIMAL + 'skip: "0"\n', "9:7", "is not a reason in words", schema=False),
    "negative times": Wrong(_assertion("{times: -1}"), "9:68", "must be at least 0"),
    "times and at_most": Wrong(
        _assertion("{times: 1, at_most: 2}"), "9:68", "`times` is the exact number", schema=False
    ),
    "least over most": Wrong(
        _assertion("{at_least: 3, at_most: 2}"), "9:71", "more than `at_most`", schema=False
    ),
    "arguments of no call": Wrong(
        _assertion("{times: 0, args: {a: 1}}"), "9:77", "must not be called", schema=False
    ),
    "every of nothing": Wrong(_assertion("{times: 1, every: true}"), "9:78", "`every` goes with `args`"),
    "bad pattern": Wrong(
        _assertion('{args: {a: {matches: "(x"}}}'),
        "9:81",
        "not a regular expression at character 1",
        schema=False,
    ),
    "misspelt condition": Wrong(_assertion("{args: {a: {equal: 1}}}"), "9:72", "did you mean `equals`?"),
    "minimum": Wrong(
        _assertion("{args: {a: {min: 90}}}"),
        "9:72",
        "args.a.min: unknown condition; did you mean `at_least`? If the value has a key of that name, write "
        "`includes: {min: …}`",
    ),
    "a comparison": Wrong(_assertion('{args: {a: {">=": 90}}}'), "9:72", "did you mean `at_least`?"),
    "a regex": Wrong(_assertion("{args: {a: {regex: x}}}"), "9:72", "did you mean `matches`?"),
    "eq": Wrong(_assertion("{args: {a: {eq: 1}}}"), "9:72", "did you mean `equals`?"),
    "in camel case": Wrong(
        _assertion("{args: {a: {notEquals: 1}}}"), "9:72", "did you mean `not_equals`?", schema=False
    ),
    "between": Wrong(
        _assertion("{args: {a: {between: [1, 2]}}}"), "9:72", "did you mean `at_least` and `at_most`?"
    ),
    "a condition beside a key": Wrong(
        _assertion("{args: {a: {equals: 1, city: Oslo}}}"), "9:83", "Or if the value has a key of that name"
    ),
    "nested minimum": Wrong(
        _assertion("{args: {a: {b: {c: {min: 1}}}}}"),
        "9:80",
        "args.a.b.c.min: unknown condition; did you mean `at_least`?",
        schema=False,
    ),
    "nested pattern": Wrong(
        _assertion('{args: {a: {b: {matches: "(x"}}}}'),
        "9:85",
        "args.a.b.matches: not a regular",
        schema=False,
    ),
    "bound as text": Wrong(
        _assertion('{args: {a: {at_least: "90"}}}'), "9:82", 'at_least: must be a number, got the text "90"'
    ),
    "no number": Wrong(
        _assertion("{args: {a: {above: 5, at_most: 5}}}"),
        "9:79",
        "no number is `above: 5` and `at_most: 5`",
        schema=False,
    ),
    "two lower bounds": Wrong(
        _assertion("{args: {a: {above: 5, at_least: 5}}}"),
        "9:79",
        "give either `at_least` or `above`",
        schema=False,
    ),
    "one of nothing": Wrong(
        _assertion("{args: {a: {one_of: []}}}"), "9:80", "this is empty, so it says nothing", schema=False
    ),
    "includes nothing": Wrong(
        _assertion("{args: {a: {includes: {}}}}"), "9:82", "this is empty, so it says nothing", schema=False
    ),
    "contains not an empty text": Wrong(
        _assertion('{args: {a: {not_contains: ""}}}'), "9:86", "so this never holds", schema=False
    ),
    "empty condition": Wrong(_assertion("{args: {a: {}}}"), "9:71", "this says nothing"),
    "before itself": Wrong(_assertion("{before: t}"), "9:69", "`t` can't come before itself", schema=False),
    "required and prohibited": Wrong(
        _evaluation("tool_usage: {required_tools: [a], prohibited_tools: [b, a]}"),
        "9:59",
        "prohibited_tools[1]: `a` is both prohibited and required",
        schema=False,
    ),
    "required by a prohibited pattern": Wrong(
        _evaluation('tool_usage: {required_tools: [get_a], prohibited_tools: ["*"]}'),
        "9:60",
        "`*` prohibits `get_a`, which is required; to forbid all tools but those that are listed",
        schema=False,
    ),
    "before a pattern of itself": Wrong(
        _assertion('{before: "[t]"}'), "9:69", "`t` can't come before itself", schema=False
    ),
    "replies at the top": Wrong(
        MINIMAL + "replies: [{contains: a}]\n", "9:1", "this key belongs in `evaluation`"
    ),
    "a check of nothing": Wrong(_reply("{turn: 1}"), "9:13", "this checks nothing; give it at least one of"),
    "which replies": Wrong(
        _reply("{contains: a, not_contains: b}"), "9:13", "say which replies this is about", schema=False
    ),
    "any without": Wrong(
        _reply("{not_contains: b, turn: any}"), "9:37", "for no reply at all, write `all`", schema=False
    ),
    "a reply that never comes": Wrong(
        _reply("{contains: a, turn: 11}"),
        "9:33",
        "replies[0].turn: turn 11 never comes: `max_turns` is 10",
        schema=False,
    ),
    "turn 0": Wrong(
        _reply("{contains: a, turn: 0}"), "9:33", "turn 0 is the greeting of an agent that", schema=False
    ),
    "a turn below 0": Wrong(
        _reply("{contains: a, turn: -1}"), "9:33", "must be at least 0, got the number -1"
    ),
    "the first turn": Wrong(
        _reply("{contains: a, turn: first}"), "9:33", "must be one of `any`, `all`, `last`, got the text"
    ),
    "no turn": Wrong(_reply("{contains: a, turn: []}"), "9:33", "this is empty", schema=False),
    "case of a length": Wrong(
        _reply("{length: {words: {at_most: 5}}, ignore_case: true}"),
        "9:58",
        "this goes with contains, not_contains",
        schema=False,
    ),
    "contains nothing": Wrong(_reply('{contains: ""}'), "9:24", "must not be empty"),
    "contains without a value": Wrong(_reply("{contains: }"), "9:24", "contains: there is no value here"),
    "json without a value": Wrong(_reply("{json: null}"), "9:20", "json: there is no value here"),
    "a language without a value": Wrong(_reply("{language: ~}"), "9:24", "there is no value here"),
    "a length without a number": Wrong(
        _reply("{length: {words: {at_least: 1, at_most: }}}"), "9:53", "words.at_most: there is no value here"
    ),
    "a turn without a number": Wrong(_reply("{contains: a, turn: }"), "9:33", "turn: there is no value here"),
    "a pattern without a value": Wrong(
        _assertion("{args: {a: {matches: }}}"), "9:81", "args.a.matches: there is no value here"
    ),
    "a range without a number": Wrong(
        _assertion("{args: {a: {above: 1, below: null}}}"), "9:89", "args.a.below: there is no value here"
    ),
    "an order of ADK": Wrong(
        _evaluation("tool_usage: {expected_calls: {order: ANY_ORDER, calls: [t]}}"),
        "9:40",
        "did you mean `superset`?",
    ),
    "ordered calls": Wrong(
        _evaluation("tool_usage: {expected_calls: {order: ordered, calls: [t]}}"),
        "9:40",
        "did you mean `in_order`?",
    ),
    "a misspelt order": Wrong(
        _evaluation("tool_usage: {expected_calls: {order: stric, calls: [t]}}"),
        "9:40",
        "did you mean `strict`?",
    ),
    "an expected call without conditions": Wrong(
        _evaluation("tool_usage: {expected_calls: {calls: [{tool: t, args: {}}]}}"),
        "9:57",
        "this has no condition, so any arguments will do",
    ),
    "several parts that an argument lacks": Wrong(
        _assertion("{args: {a: {not_contains: [b, c]}}}"),
        "9:86",
        "one item of a list of lists; for several parts write `not_matches: a|b`",
        schema=False,
    ),
    "by no turn": Wrong(_assertion("{times: 0, by_turn: }"), "9:80", "by_turn: there is no value here"),
    "contains an empty list": Wrong(_reply("{contains: []}"), "9:24", "this is empty", schema=False),
    "icontains": Wrong(_reply("{icontains: a}"), "9:14", "write `contains` with `ignore_case: true`"),
    "regex of a reply": Wrong(_reply("{regex: a}"), "9:14", "unknown check of replies; write `matches`"),
    "is-json": Wrong(_reply("{is-json: true}"), "9:14", "write `json: true`"),
    "a broken pattern": Wrong(_reply('{matches: "(x"}'), "9:23", "not a regular expression", schema=False),
    "an empty pattern": Wrong(_reply('{not_matches: ""}'), "9:27", "every reply has an empty", schema=False),
    "not json": Wrong(
        _reply("{json: false}"), "9:20", "must be true, or a mapping of paths and values", schema=False
    ),
    "json with min": Wrong(
        _reply("{json: {price: {min: 1}}}"), "9:29", "replies[0].json.price.min: unknown condition; did you"
    ),
    "Norwegian": Wrong(
        _reply("{language: no}"), "9:24", "`no` is a boolean in YAML; for Norwegian write `nb`"
    ),
    "German by name": Wrong(_reply("{language: German}"), "9:24", "did you mean `de`?"),
    "a region": Wrong(_reply("{language: pt-BR}"), "9:24", "regions and scripts are not distinguished"),
    "an unknown language": Wrong(_reply("{language: [de, xx]}"), "9:29", "known are af, ar, az"),
    "alone among": Wrong(
        _reply("{language: {one_of: [de], among: [de]}}"), "9:46", "name another language", schema=False
    ),
    "not among": Wrong(
        _reply("{language: {one_of: [de], among: [en, fr]}}"),
        "9:46",
        "`de` of `one_of` is missing",
        schema=False,
    ),
    "length of what": Wrong(
        _reply("{length: {at_most: 5}}"), "9:23", "say what is counted: `characters: {at_most: …}`"
    ),
    "any length": Wrong(
        _reply("{length: {words: {at_least: 0}}}"), "9:30", "every reply is that long", schema=False
    ),
    "no length": Wrong(
        _reply("{length: {words: {at_least: 5, at_most: 4}}}"), "9:41", "more than `at_most`", schema=False
    ),
    "a JSONPath": Wrong(
        _reply('{json: {"$.items[0].price": 1}}'),
        "9:41",
        "joined with dots here; write `items.0.price`",
        schema=False,
    ),
    "a JSONPath among arguments": Wrong(
        _assertion('{args: {"items[0].id": 1}}'), "9:83", "write `items.0.id`, got the text", schema=False
    ),
    "a text as a check": Wrong(
        _reply("refund"), "9:13", "must be a mapping, such as `contains: …`, got the text"
    ),
    "a check as replies": Wrong(
        _evaluation("replies: {contains: a}"), "9:12", "got a mapping; begin each item with `- `"
    ),
    "a number as words": Wrong(_reply("{contains: 5}"), "9:24", 'put it in quotes if you mean the text: "5"'),
    "a minimum of calls": Wrong(_assertion("{min: 1}"), "9:61", "did you mean `at_least`?"),
    "exactly so many calls": Wrong(_assertion("{exactly: 1}"), "9:61", "did you mean `times`?"),
    # Not a scenario at all.
    "a list": Wrong("- a\n- b\n", "1:1", "this isn't a scenario: it is a list"),
    "another file": Wrong(
        "services:\n  web: {}\nvolumes: {}\n", "1:1", "none of its keys (services, volumes)"
    ),
    "an empty mapping": Wrong("{}\n", "1:1", "name: this key is required"),
    "misspelt in a skipped one": Wrong(
        "name: x\nskip: true\nevalution: {}\n", "3:1", "did you mean `evaluation`?"
    ),
    "wrong type in a skipped one": Wrong("name: x\nskip: true\ntags: smoke\n", "3:7", "must be a list"),
}
