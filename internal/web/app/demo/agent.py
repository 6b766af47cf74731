"""A program of docs/harness-stdio.md that plays a part: it needs no model, and
says always the same. `make screenshot` takes its picture, and whoever works on
the pages can look at all that they show: the first word of a message says which.
"""

import json
import os
import queue
import sys
import threading

heard = queue.Queue()


def listen():
    for line in sys.stdin:
        heard.put(json.loads(line))
    os._exit(0)


class Interrupted(Exception):
    pass


def write(kind, **event):
    print(json.dumps({"type": kind, **event}), flush=True)


def wait(kind, seconds=None):
    """The next line of a kind; None when none came in time."""
    while True:
        try:
            line = heard.get(timeout=seconds)
        except queue.Empty:
            return None
        if line["type"] == "interrupt":
            raise Interrupted
        if line["type"] == kind:
            return line


def pause(seconds):
    wait("nothing", seconds)


def say(text, pace=0.02):
    for piece in text.splitlines(keepends=True):
        for word in piece.replace(" ", " \0").split("\0"):
            write("response.output_text.delta", delta=word)
            pause(pace)


def think(text):
    for word in text.split(" "):
        write("response.reasoning_text.delta", delta=word + " ")
        pause(0.05)


calls = 0


def own_tool(name, arguments, output, seconds=0.3):
    """A tool that this program runs itself."""
    global calls
    calls += 1
    call = {"type": "function_call", "call_id": f"c{calls}", "name": name, "arguments": json.dumps(arguments)}
    write("response.output_item.done", item={**call, "status": "in_progress"})
    pause(seconds)
    write("response.output_item.done", item={**call, "status": "completed"})
    write("response.output_item.done", item={"type": "function_call_output", "call_id": f"c{calls}", "output": output})


def runner_tool(name, arguments):
    """A tool that the runner runs."""
    global calls
    calls += 1
    item = {"type": "function_call", "status": "action_required", "call_id": f"r{calls}", "name": name}
    write("response.output_item.done", item={**item, "arguments": json.dumps(arguments)})
    return wait("tool_result")["output"]


def ask(message, **params):
    global calls
    calls += 1
    write("response.elicitation_request", elicitation_id=f"q{calls}", params={"message": message, **params})
    return wait("approval")


def choice(*values):
    answer = {"type": "string", "enum": list(values)}
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}


TIMES = """| step | before | now |
| --- | ---: | ---: |
| fetch modules | 11 min | 20 s |
| compile | 9 min | 8 min |
| tests | 21 min | 7 min |
"""

FIX = """```yaml
- uses: cache
  with:
    path: ~/go/pkg/mod
    key: modules-${{ hash('go.sum') }}
```
"""

MARKUP = """# A heading

Text with **strong**, *emphasis*, ~~gone~~, `code` and [a link](https://example.org), and a line
that is long enough to be broken where the window ends, whatever its width may be.

1. one
2. two
   - inner
   - [x] done
   - [ ] open

> A quote.

<script>document.title = 'owned'</script><img src=x onerror="document.title='owned'">
[a bad link](javascript:document.title='owned') ![a picture](https://example.org/pixel.png)

"""


def nightly(_):
    think("The log of the last run says where the time goes. Two parts are independent, so two workers can look at them.")
    say("I'll look at where the time goes first.\n")
    own_tool("read_file", {"path": "ci/nightly.log"}, "fetch modules  11m02s\ncompile         9m10s\ntests          21m40s\n")
    say("Fetching modules and the tests take most of it; I'll give each to a worker.\n")
    runner_tool("sys_session_send", {"agent": "reader", "title": "module cache", "args": "Why are modules fetched every night?"})
    runner_tool("sys_session_send", {"agent": "tester", "title": "slow tests", "args": "Which tests are slow, and why?"})
    own_tool("edit_file", {"path": ".ci/nightly.yaml"}, "1 change")
    say("The cache had no key, so it was thrown away each night. With one the run is at **16 minutes**:\n\n" + TIMES + "\n" + FIX)
    answer = ask("May I push this to the branch `faster-nightly`?", requestedSchema=choice("Push", "Show me the diff first"))
    say(f"\nYou said {json.dumps(answer.get('content') or answer['action'])}.\n")


def markdown(_):
    say(MARKUP + TIMES + "\n" + FIX)


def question(_):
    first = ask("Delete all of it?")
    second = ask("Which one?", requestedSchema=choice("red", "green"))
    form = {"name": {"type": "string", "title": "Name"}, "count": {"type": "integer"}, "sure": {"type": "boolean"}}
    third = ask("Fill this in.", requestedSchema={"type": "object", "properties": form, "required": ["name"]})
    say("".join(f"- {json.dumps({k: a.get(k) for k in ('action', 'content')})}\n" for a in (first, second, third)))


def tools(_):
    think("A thought that is shown and not kept.")
    own_tool("bash", {"command": "ls -la"}, "total 0\n", 1)
    own_tool("bash", {"command": "seq 1000"}, "".join(f"{n}\n" for n in range(1000)), 1)
    say("Done.\n")


def fail(_):
    say("Half of an answer, ")
    error = {"code": "rate_limit_exceeded", "message": "The model is busy.", "remediation": "Try again in a minute."}
    write("response.failed", error=error)
    return "failed"


def count(_):
    for n in range(1, 301):
        say(f"line {n}\n", 0.1)


def workers(_):
    for name, title in ("reader", "good"), ("tester", "bad"):
        say(runner_tool("sys_session_send", {"agent": name, "title": title, "args": title}) + "\n\n")


def inbox(_):
    results = json.loads(runner_tool("sys_read_inbox", {}))
    say(f"I read what my workers found ({len(results) if isinstance(results, list) else 1}).\n")


def help_(_):
    say("Say one of: " + ", ".join(f"`{w}`" for w in parts) + ".\n")


def worker(text):
    own_tool("grep", {"pattern": "cache"}, "nothing\n", 1)
    if "slow" in text or "bad" in text:
        say("Three tests sleep. ")
        pause(4)
        write("response.failed", error={"code": "exit_status", "message": "go test ended with status 1: TestResume timed out"})
        return "failed"
    say("Nothing names a key for the module cache, so each run begins with an empty one.\n")


parts = {
    "nightly": nightly, "markdown": markdown, "question": question, "tools": tools, "fail": fail,
    "count": count, "workers": workers, "system": inbox, "help": help_,
}  # fmt: skip


def turn(message):
    blocks = message["content"][-1].get("content") or []
    text = "".join(b.get("text", "") for b in blocks)
    lead = any(t["function"]["name"] == "sys_session_send" for t in message.get("tools") or [])
    words = "system" if text.startswith("[System:") else text.lower()
    word = next((w for w in parts if w in words), "help")
    try:
        if (parts[word] if lead else worker)(text) is None:
            write("response.completed")
    except Interrupted:
        write("response.cancelled")


threading.Thread(target=listen, daemon=True).start()
while True:
    line = heard.get()
    if line["type"] == "message":
        turn(line)
