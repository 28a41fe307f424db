"""A model process for tests: python3 fake_process.py BEHAVIOUR. The log-prob of a continuation is
minus its length in code points; some continuations are answered badly, or kill the process."""
import json
import os
import signal
import sys
import time

behaviour = sys.argv[1]
capabilities = ["loglikelihood", "rolling", "generate", "count_tokens"]


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def score(text):
    if text == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    if text == "hang":
        time.sleep(60)
    bad = {
        "nan": {"log_prob": float("nan"), "is_greedy": True},
        "infinite": {"log_prob": float("-inf"), "is_greedy": True},
        "positive": {"log_prob": 0.5, "is_greedy": True},
        "text": {"log_prob": "high", "is_greedy": True},
        "missing": {"log_prob": -1.0},
        "sum": {"log_prob": -1.0, "token_log_probs": [-1.0, -1.0], "is_greedy": True},
        "error": {"error": "out of memory"},
    }
    if text in bad:
        return bad[text]
    size = len(text)
    return {"log_prob": -float(size), "token_log_probs": [-1.0] * size, "is_greedy": True,
            "context_tokens": 7, "output_tokens": size}


def answer(request):
    kind = request["type"]
    if kind == "loglikelihood":
        result = score(request["continuation"])
    elif kind == "rolling":
        result = score(request["text"])
    elif kind == "generate":
        result = {"text": request["prompt"] + " " + request["prompt"], "finish": "stop"}
    else:
        result = {"tokens": len(request["text"])}
    return {"id": request["id"], **result}


if behaviour == "no-hello":
    sys.exit(3)
if behaviour == "silent-hello":
    time.sleep(60)
if behaviour == "chatter":
    print("Loading weights: 100 %", flush=True)
if behaviour == "only-generates":
    capabilities = ["generate"]
write({"type": "hello", "protocol": 0 if behaviour == "old-hello" else 1,
       "name": f"fake {os.getpid()}" if behaviour == "changes" else "fake",
       "max_length": 128, "capabilities": capabilities})
if behaviour in ("dies-at-once", "changes"):
    sys.stdin.readline()
    sys.exit(1)

held, count = [], 0
for line in sys.stdin:
    request = json.loads(line)
    if behaviour == "reversed":
        # Answers in pairs, the later one first; the last one of an odd number after a while alone.
        held.append(request)
        if len(held) == 2 or request["id"] >= 48:
            for one in reversed(held):
                write(answer(one))
            held = []
        continue
    if behaviour == "huge-line":
        sys.stdout.write("x" * (80 << 20))
        sys.stdout.flush()
    elif behaviour == "not-json":
        print("{", flush=True)
    elif behaviour == "no-id":
        write({"log_prob": -1.0})
    elif behaviour == "unknown-id":
        write({**answer(request), "id": 12345})
    else:
        write(answer(request))
    if behaviour == "duplicate":
        write(answer(request))
    count += 1
    if behaviour == "mortal" and count == 5:
        sys.exit(7)
if behaviour == "marks-its-end":
    open(sys.argv[2], "w").close()
