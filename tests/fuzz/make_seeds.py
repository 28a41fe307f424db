"""Writes the seeds of the fuzzing targets: python3 tests/fuzz/make_seeds.py

Small valid inputs of our own making, a few of each kind, below tests/fuzz/corpus/TARGET. They are
committed; this says what they are, and makes them again where a format changes.
"""
import gzip
import io
import json
import pathlib
import shutil
import sqlite3
import struct
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).parent
CORPUS = ROOT / "corpus"
SEPARATOR = b"\n%%%%\n"


def put(target, name, content):
    if isinstance(content, (dict, list)):
        content = json.dumps(content, ensure_ascii=False)
    if isinstance(content, str):
        content = content.encode()
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def join(*parts):
    return SEPARATOR.join(p if isinstance(p, bytes) else
                          (p if isinstance(p, str) else json.dumps(p, ensure_ascii=False)).encode()
                          for p in parts)


# --- checkpoints -------------------------------------------------------------------------------

def safetensors(tensors, metadata=None):
    sizes = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U8": 1}
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape in tensors:
        count = sizes[dtype]
        for size in shape:
            count *= size
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + count]}
        data += bytes(i % 251 for i in range(count))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def make_checkpoints():
    put("safetensors", "empty", safetensors([]))
    put("safetensors", "scalar", safetensors([("a", "I64", [])]))
    put("safetensors", "kinds", safetensors(
        [("x", "F32", [2, 3]), ("y.weight", "BF16", [4]), ("z", "F16", [2]), ("u", "U8", [0, 7])],
        {"format": "pt"}))
    put("safetensors", "long_header", struct.pack("<Q", 1 << 40) + b"{}")
    small = {"vocab_size": 4, "hidden_size": 4, "num_hidden_layers": 1, "intermediate_size": 4}
    configs = {
        "transformer": {"num_heads": 2, "qk_norm": True, "window_size": 8},
        "gated_deltanet": {"num_heads": 2, "num_v_heads": 4, "head_dim": 4, "expand_v": 2,
                           "attn": {"layers": [0], "num_heads": 2, "rope_theta": 100.0}},
        "delta_net": {"num_heads": 2, "expand_k": 0.5, "qk_activation": "elu", "qk_norm": "sum"},
        "gla": {"num_heads": 2, "num_kv_heads": 1, "clamp_min": -3.0, "feature_map": "relu"},
        "retnet": {"hidden_ratio": 2, "num_heads": 2, "expand_v": 2.0},
        "hgrn": {"use_short_conv": True, "use_lower_bound": True},
        "hgrn2": {"expand_ratio": 2, "attn": [{"layers": [0], "num_heads": 2}]},
        "rwkv6": {"hidden_ratio": 3.5, "num_heads": 2, "proj_low_rank_dim": 3},
        "neural_attention_search_linear_attn_gdn": {
            "num_heads": 2, "head_dim": 8, "num_attn_heads": 4, "num_nats_head": 2,
            "ops_for_incomplete_chunks": "all", "gdn_layers": [0]},
        "llama": {"num_attention_heads": 2, "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 256}},
        "qwen3": {"num_attention_heads": 2, "rope_scaling": {
            "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}},
        "mistral": {"num_attention_heads": 2, "sliding_window": 8, "head_dim": None},
        "smollm3": {"num_attention_heads": 2, "no_rope_layer_interval": 2},
        "gemma3_text": {"num_attention_heads": 2, "sliding_window_pattern": 2,
                        "query_pre_attn_scalar": 9, "final_logit_softcapping": 30.0},
        "gpt_neox": {"num_attention_heads": 2, "rotary_pct": 0.25, "layer_norm_eps": 1e-5},
    }
    for family, more in configs.items():
        put("config", family, {"model_type": family, **small, **more})
    put("config", "mamba2", '{"model_type": "mamba2", "hidden_size": 16, "expand": 2, "head_dim": 4,'
        ' "num_heads": 8, "state_size": 6, "time_step_limit": [0.01, Infinity]}')
    put("config", "mamba2_float", {"model_type": "mamba2", "dt_limit": [0, {"__float__": "Infinity"}]})
    put("config", "gemma3", {"model_type": "gemma3", "text_config": {
        "model_type": "gemma3_text", **small, "num_attention_heads": 2}})
    config = {"model_type": "llama", **small, "num_attention_heads": 1, "tie_word_embeddings": True}
    layer = "model.layers.0."
    tensors = [("model.embed_tokens.weight", "F32", [4, 4]), ("model.norm.weight", "F32", [4])]
    tensors += [(layer + f"self_attn.{p}_proj.weight", "F32", [4, 4]) for p in "qkvo"]
    tensors += [(layer + f"mlp.{p}_proj.weight", "F32", [4, 4]) for p in ("gate", "up", "down")]
    tensors += [(layer + f"{p}_layernorm.weight", "F32", [4]) for p in ("input", "post_attention")]
    tokenizer = {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}
    index = {"metadata": {"total_size": 4},
             "weight_map": {name: "model.safetensors" for name, _, _ in tensors}}
    put("model_folder", "single", join(config, b"", safetensors(tensors), tokenizer, {"bos_token": "a"}))
    put("model_folder", "indexed", join(config, index, safetensors(tensors), tokenizer, b""))
    put("model_folder", "leaves", join(config, {"weight_map": {"a": "../outside.safetensors"}},
                                       b"", tokenizer, b""))


# --- tokenizers --------------------------------------------------------------------------------

BPE = {"type": "BPE", "unk_token": None,
       "vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "\u0120": 4, "he": 5, "ll": 6, "hell": 7, "hello": 8},
       "merges": ["h e", "l l", "he ll", "hell o"]}


def tokenizer(model, **more):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            **more, "model": model}


def make_tokenizers():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = {"id": 9, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": True,
               "normalized": False, "special": True}
    put("tokenizer_json", "byte_level", join(tokenizer(
        BPE, pre_tokenizer=byte_level, decoder={"type": "ByteLevel"}, added_tokens=[special],
        post_processor={"type": "TemplateProcessing",
                        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                   {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                        "special_tokens": {"<s>": {"id": "<s>", "ids": [9], "tokens": ["<s>"]}}}),
        "hello <s> hell"))
    put("tokenizer_json", "split", tokenizer(
        BPE, pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|\\p{L}+|\\p{N}{1,3}| ?[^\\s]+|\\s+(?!\\S)"},
             "behavior": "Isolated", "invert": False},
            {"type": "Digits", "individual_digits": True}, byte_level]},
        normalizer={"type": "NFC"}))
    put("tokenizer_json", "byte_fallback", tokenizer(
        {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True,
         "vocab": {"<unk>": 0, "<0x0A>": 1, "\u2581": 2, "a": 3, "\u2581a": 4}, "merges": [["\u2581", "a"]]},
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}))
    put("tokenizer_json", "unigram", tokenizer(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
         "vocab": [["<unk>", 0.0], ["\u2581", -2.0], ["a", -3.0], ["ab", -4.5], ["\u2581ab", -5.0]]},
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"},
                                                "content": " "}]},
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
        decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}))
    put("tokenizer_json", "word_piece", tokenizer(
        {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
         "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "hel": 1, "##lo": 2, "w": 3}},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                    "strip_accents": None, "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}))
    put("tokenizer_json", "word_level", tokenizer(
        {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "Hello": 1, "ab": 2}},
        pre_tokenizer={"type": "Whitespace"}))
    put("tokenizer_config", "llama", join(
        {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": True, "add_eos_token": False,
         "bos_token": "<s>", "eos_token": {"content": "</s>", "special": True}, "unk_token": "<unk>",
         "model_max_length": 1e30, "chat_template": "{% for m in messages %}{{ m }}{% endfor %}",
         "added_tokens_decoder": {"5": {"content": "<s>", "special": True, "single_word": False,
                                        "lstrip": False, "rstrip": False, "normalized": False}}},
        {"pad_token": "</s>"}, {"eos_token_id": [3, 5], "bos_token_id": 5}))
    put("tokenizer_config", "none", join({"bos_token": None, "model_max_length": 2048}, b"", b""))

    def varint(value):
        out = b""
        while value >= 0x80:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    def number(number, value):
        return varint(number << 3) + varint(value)

    def piece(text, score, kind):
        return field(1, field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) +
                     number(3, kind))

    pieces = (piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) +
              piece("\u2581", -3, 1) + piece("a", -2, 1) + piece("b", -2, 1) + piece("ab", -3, 1))
    rules = field(3, field(1, b"identity") + number(3, 1) + number(4, 0) + number(5, 1))
    put("sentencepiece", "unigram", pieces + field(2, number(3, 1)) + rules)
    put("sentencepiece", "bpe", pieces + field(2, number(3, 2)) + rules)
    put("sentencepiece", "bytes", pieces + b"".join(piece(f"<0x{i:02X}>", 0, 6) for i in range(256)) +
        field(2, number(3, 2) + number(35, 1)) + rules)
    # A trie of one unit and one replacement text.
    charsmap = struct.pack("<I", 4) + struct.pack("<I", 0) + b"a\0"
    put("sentencepiece", "charsmap", pieces + field(2, number(3, 1)) + field(3, field(2, charsmap)))


# --- data files --------------------------------------------------------------------------------

def make_data():
    lines = '{"goal": "a", "sol1": "b", "sol2": "c \\u00e9"}\n\n{"goal": null, "n": [1, 2.5e3, -0]}\n'
    put("data_json", "lines", lines)
    put("data_json", "list", '[{"a": 1}, {"b": [true, false, null]}, "x", {"c": {"d": "\\ud83d\\ude00"}}]')
    put("data_json", "one", '\ufeff{"data": [{"paragraphs": [{"qas": []}]}]}')
    put("compressed", "gzip", gzip.compress(lines.encode(), mtime=0))
    put("compressed", "two_members", gzip.compress(b"a", mtime=0) + gzip.compress(b"b" * 100, mtime=0))
    # zstd: a frame of one raw block.
    put("compressed", "zstd", b"\x28\xb5\x2f\xfd\x20\x05" + b"\x29\x00\x00" + b"hello")
    put("compressed", "zstd_rle", b"\x28\xb5\x2f\xfd\x20\x40" + b"\x03\x02\x00" + b"x")
    for name in ("questions", "timestamp"):
        folder = CORPUS / "parquet"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT.parent / "fixtures" / "data" / f"{name}.parquet", folder / name)
    put("manifest", "small", {
        "schema": 1, "name": "x", "title": "X", "home": "https://example.org", "hub": "org/x",
        "revision": None, "licence": "MIT", "tasks": ["x"], "layout": "jsonl",
        "fields": {"a": "string"},
        "files": [{"path": "x/a.jsonl", "split": "test", "bytes": 3, "sha256": "0" * 64, "rows": 1}]})


def make_fetch():
    put("data_lock", "one", {"schema": 1, "files": [{
        "name": "x", "file": "x/a.jsonl", "bytes": 3, "sha256": "0" * 64, "url": "https://x/a",
        "date": "2025-01-02"}]})
    put("hub_listing", "two", {"sha": "c" * 40, "siblings": [
        {"rfilename": "data/test-00000-of-00001.parquet", "size": 5, "blobId": "e" * 40,
         "lfs": {"sha256": "a" * 64, "size": 5, "pointerSize": 129}},
        {"rfilename": "README.md", "size": 6, "blobId": "f" * 40}]})
    for name, text in {"part": "bytes 5-9/20", "unknown": "bytes 0-0/*", "url": "HTTPS://user@HOST:443/x?y#z"}.items():
        put("content_range", name, text)
    for method, name in ((zipfile.ZIP_STORED, "zip_stored"), (zipfile.ZIP_DEFLATED, "zip")):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for entry in ("a.txt", "set/b.txt", "../c.txt"):
                archive.writestr(zipfile.ZipInfo(entry, (2025, 1, 2, 0, 0, 0)), entry * 20, method)
        put("archive", name, file.getvalue())
    for mode, name in (("w:gz", "tar_gz"), ("w", "tar")):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as archive:
            for entry, kind in (("a.txt", tarfile.REGTYPE), ("set/b.txt", tarfile.SYMTYPE)):
                head = tarfile.TarInfo(entry)
                head.type, head.size, head.linkname = kind, 5 if kind == tarfile.REGTYPE else 0, "../x"
                archive.addfile(head, io.BytesIO(b"hello"))
        put("archive", name, file.getvalue())


# --- what runs leave behind --------------------------------------------------------------------

def answer_base(context, output, error=None):
    bytes_ = struct.pack("<qqqBB", context, output, 0, 0, error is not None)
    return bytes_ if error is None else bytes_ + struct.pack("<q", len(error)) + error


def make_runs():
    scored = answer_base(3, 2) + struct.pack("<dB", -1.5, 1) + struct.pack("<qff", 2, -1.0, -0.5)
    rolling = answer_base(0, 1) + struct.pack("<dqfq", -2.0, 1, -2.0, 5)
    made = answer_base(3, 1) + struct.pack("<q", 2) + b"hi" + struct.pack("<qiB", 1, 7, 2)
    failed = answer_base(0, 0, b"HTTP 500") + struct.pack("<dBq", 0, 0, 0)
    for name, bytes_ in {"scored": scored, "rolling": rolling, "made": made, "failed": failed}.items():
        put("stored_answer", name, bytes_)
    file = CORPUS / "journal" / "small"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID")
        database.execute("CREATE TABLE answers (kind INTEGER, request INTEGER, answer BLOB NOT NULL,"
                         " PRIMARY KEY (kind, request))")
        database.execute("INSERT INTO notes VALUES ('identity.run', '{\"dtype\": \"float32\"}')")
        database.execute("INSERT INTO notes VALUES ('options', '[\"run\"]')")
        database.executemany("INSERT INTO answers VALUES (?, ?, ?)",
                             [(0, 0, scored), (1, 0, rolling), (2, 0, made), (0, 1, failed)])
    database.close()
    metric = {"name": "acc", "filter": "none", "aggregation": "mean", "higher_is_better": True,
              "value": 0.5, "stderr": None, "stderr_null_reason": "one document", "ci95_low": 0.1,
              "ci95_high": 0.9, "ci95_method": "bootstrap", "n": 2}
    task = {"name": "piqa", "summary": "s", "dataset": "piqa", "split": "validation",
            "protocol": "p", "licence": "MIT", "few_shot": "none", "version": 1, "num_fewshot": 0,
            "documents": 2, "evaluated": 2, "data_sha256": "ab", "samples_sha256": "cd",
            "first_request": {"ids": 3, "first": [1, 2], "last": [3]}, "metrics": [metric],
            "requests": {"count": 4, "context_tokens": 9, "output_tokens": 4, "truncated": 0,
                         "truncated_tokens": 0, "skipped_documents": 0, "failed_documents": 0},
            "deviations": [], "warnings": ["w"]}
    own = {"schema": 1, "program_version": "0.1.0", "versions": {"compiler": "12"},
           "model": {"name": "m", "family": "llama", "weights_sha256": "00", "dtype": "float32",
                     "device": "cpu", "max_length": 8, "vocabulary": 4, "parameters": 9,
                     "settings": {"a": "b"}},
           "settings": {"limit": {"value": 2, "origin": "command line"}}, "tasks": [task],
           "groups": [{"name": "g", "tasks": ["piqa"], "evaluated": 2, "metrics": [metric]}],
           "warnings": []}
    timings = {"started": "2025-01-01T00:00:00Z", "host": "h", "threads": 2, "processes": 1,
               "phases_seconds": {"run": 1.5}, "batches": 1, "computed_tokens": 9,
               "tasks": {"piqa": {"requests": 4, "cached": 0, "resumed": 0}}}
    rows = ('{"doc_id": 0, "id": "0", "filter": "none", "acc": 1.0}\n'
            '{"doc_id": 1, "filter": "none", "acc": [0.5, NaN]}\n')
    put("results", "run", join({"results": {}, "natsl_bench": own}, timings, rows))
    put("results", "alone", join({"natsl_bench": own}, b"", b""))
    point = {"phase": "prefill", "batch": 1, "prompt": 512, "depth": 0, "new_tokens": 0}
    put("latency", "small", {
        "schema": "natsl-bench/latency", "schema_version": 1, "method": "m",
        "program": {"name": "natsl-bench", "version": "0.1.0"}, "started_utc": "t",
        "complete": False, "incomplete_because": "stopped", "labels": ["l"],
        "settings": {"interval_target": 0.01, "depth_state": "prefill", "ids": "random",
                     "batch_tokens": 512, "threads": 2},
        "machine": {"host": "h", "boot_id": "b", "cpu": "c", "cores": 2, "memory_bytes": 1024,
                    "gpus": [{"name": "g", "uuid": "u", "driver": "d", "memory_bytes": 1}]},
        "variants": [{"role": "subject", "model": "m", "label": "m", "forced_softmax_share": 0.5,
                      "dtype": "float32", "device": "cpu", "weights_fingerprint": "00"}],
        "measurements": [{"variant": 0, "point": point, "samples_seconds": [0.5, 0.25, 1e-3],
                          "stopped_because": "enough", "labels": []}]})
    put("gate", "rules", {"rules": [
        {"task": "piqa", "metric": "acc,none", "allowed_loss": 0.01, "confidence": 0.95,
         "require_certainty": True}, {"task": "x", "metric": "y", "allowed_loss": 0}]})


# --- models elsewhere --------------------------------------------------------------------------

def make_remote():
    tokens = ["The", " quick", " brown", "."]
    usage = {"prompt_tokens": 4, "completion_tokens": 1}
    put("served_answer", "prompt_logprobs", {"choices": [{
        "text": "x", "finish_reason": "length", "prompt_logprobs": [
            None] + [{str(i): {"logprob": -1.5, "rank": 1, "decoded_token": "t"}} for i in (5, 6, 7)]}],
        "usage": usage})
    put("served_answer", "echo", {"choices": [{"text": "The quick brown.", "finish_reason": "length",
        "logprobs": {"tokens": tokens, "token_logprobs": [None, -1.0, -2.0, -0.5],
                     "top_logprobs": [None, {" quick": -1.0}, {" brown": -2.0}, {".": -0.5}],
                     "text_offset": [0, 3, 9, 15]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})
    put("served_answer", "sglang", {"text": "x", "output_ids": [7, 2], "meta_info": {
        "input_token_logprobs": [[None, 1, None], [-1.0, 5, "a"], [-2.0, 6, "b"], [-0.5, 7, "c"]],
        "input_top_logprobs": [None, [[-1.0, 5, None]], [[-1.5, 9, None]], [[-0.5, 7, None]]],
        "finish_reason": {"type": "stop", "matched": 2}, "prompt_tokens": 4, "completion_tokens": 2}})
    put("served_answer", "forced", {"truncated": False, "tokens_evaluated": 2, "completion_probabilities": [
        {"id": 6, "token": "x", "logprob": -1.25, "top_logprobs": [{"id": 9, "logprob": -0.5}]}]})
    put("served_answer", "llama_cpp", {"content": "hi", "tokens": [7, 8], "tokens_predicted": 2,
        "tokens_evaluated": 4, "stop_type": "word", "truncated": False})
    put("served_answer", "chat", {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
        "usage": usage})
    put("served_answer", "vllm", {"choices": [{"text": "hi", "token_ids": [7, 2], "finish_reason": "stop",
        "stop_reason": None}], "usage": usage})
    put("served_answer", "error", {"error": {"message": "no", "type": "x"}})
    put("served_answer", "detail", {"detail": [{"msg": "field required"}]})
    models = {"data": [{"id": "m", "owned_by": "llamacpp", "max_model_len": 128,
                        "meta": {"n_ctx": 64, "n_vocab": 10, "n_params": 5}}]}
    put("server_probe", "llama_cpp", join(
        "200 " + json.dumps(models),
        '200 {"default_generation_settings": {"n_ctx": 64}, "build_info": "b1"}',
        '200 {"choices": [{"text": "hi", "finish_reason": "length"}]}',
        "429 slow down", '400 {"error": {"message": "no echo"}}'))
    put("server_probe", "unknown", join(
        '200 {"data": [{"id": "m", "owned_by": "somebody"}]}', "404 no", "404 no",
        '200 {"version": "0.1"}', '200 {"choices": [{"text": "", "finish_reason": "stop"}]}',
        "500 oops", "200 not json"))
    put("process_line", "hello", {"type": "hello", "protocol": 1, "name": "m", "max_length": 128,
        "capabilities": ["loglikelihood", "rolling", "generate", "count_tokens"], "vocabulary": 10})
    put("process_line", "scored", {"id": 1, "log_prob": -1.5, "is_greedy": True, "context_tokens": 2,
        "output_tokens": 2, "token_log_probs": [-1.0, -0.5], "scored_bytes": 3})
    put("process_line", "made", {"id": 2, "text": "hi", "ids": [1, 2], "finish": "eos"})
    put("process_line", "tokens", {"id": 3, "tokens": 5})
    put("process_line", "error", {"id": 4, "error": "out of memory"})
    for name, text in {
            "lengths": "512,1k-128k*2,1k-8k+1k", "shares": "0,0.25,1", "phases": "prefill,decode",
            "served": "http://127.0.0.1:8000/v1,model=m,in_flight=4,timeout=2.5,api=chat,key_env=KEY",
            "process": "timeout=5 python3 'a b.py' --x \"1 \\\" 2\" \\ c",
            "checked": "openai:http://h/v1,model=a,b=c,process:x y"}.items():
        put("expression", name, text)
    put("script", "answers",
        '{"settings": {"batch_requests": 2, "max_length": 64}}\n'
        '{"type": "loglikelihood", "context": "a", "continuation": "b", "logprob": -1.5, "is_greedy": true, "context_ids": [1]}\n'
        '{"type": "loglikelihood_rolling", "continuation": "t", "logprob": -9, "dropped_ids": 2}\n'
        '{"type": "generate_until", "context": "q", "output": "w", "finish": "eos"}\n'
        '{"type": "generate_until", "context": "r", "error": "no"}\n')


if __name__ == "__main__":
    shutil.rmtree(CORPUS, ignore_errors=True)
    make_checkpoints()
    make_tokenizers()
    make_data()
    make_fetch()
    make_runs()
    make_remote()
