#!/usr/bin/env python3
"""A transformers model behind natsl-bench's process protocol (docs/process_protocol.md):
    natsl-bench run --model "process:python3 examples/process_transformers.py MODEL" ..."""
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

out, sys.stdout = sys.stdout, sys.stderr  # nothing but the protocol goes to stdout
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
length = model.config.max_position_embeddings
start = [tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id]


def write(message):
    print(json.dumps(message), file=out, flush=True)


def score(context, target):
    ids = (context + target)[-(length + 1):]
    logits = model(torch.tensor([ids[:-1]])).logits[0, -len(target):].log_softmax(-1)
    picked = logits.gather(1, torch.tensor(target)[:, None])[:, 0].tolist()
    return {"log_prob": sum(picked), "token_log_probs": picked, "output_tokens": len(target),
            "is_greedy": logits.argmax(-1).tolist() == target,
            "context_tokens": len(ids) - len(target),
            "truncated_tokens": len(context) + len(target) - len(ids)}


def answer(r):
    if r["type"] == "loglikelihood":
        kept = r["context"].rstrip()  # white space at the boundary belongs to the continuation
        both = r["context"] + r["continuation"]
        context = tokenizer(kept)["input_ids"] if kept else start
        whole = tokenizer(both)["input_ids"] if kept else start + tokenizer(
            both, add_special_tokens=False)["input_ids"]
        return score(context, whole[len(context):])
    ids = tokenizer(r["prompt"])["input_ids"][-(length - r["max_new_tokens"]):]
    made = model.generate(torch.tensor([ids]), max_new_tokens=r["max_new_tokens"], do_sample=False,
                          stop_strings=r["stop"] or None, tokenizer=tokenizer)[0, len(ids):]
    finish = "eos" if made[-1] == tokenizer.eos_token_id else "length"
    return {"text": tokenizer.decode(made, skip_special_tokens=True), "finish": finish}


write({"type": "hello", "protocol": 1, "name": sys.argv[1], "max_length": length,
       "capabilities": ["loglikelihood", "generate"]})
with torch.no_grad():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            write({"id": request["id"], **answer(request)})
        except Exception as error:  # this request's failure, not the run's
            write({"id": request["id"], "error": str(error)})
