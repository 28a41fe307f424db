#!/usr/bin/env python3
"""Writes a small Llama checkpoint (Hugging Face folder, float32, byte-fallback BPE) as a GGUF file,
so that a llama.cpp server can serve what the native model runs. Needs the packages gguf and numpy.

    tools/make_gguf.py CHECKPOINT_FOLDER OUT.gguf
"""
import json
import pathlib
import struct
import sys

import gguf
import numpy as np


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise SystemExit(f"{path}: {name} is {entry['dtype']}, expected F32")
        begin, end = (8 + size + at for at in entry["data_offsets"])
        yield name, np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])


def rotary_pairs_adjacent(weight, heads):
    """Hugging Face rotates (i, i + half); GGUF's llama rotates (2i, 2i + 1)."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(weight.shape)


def add_tokenizer(writer, folder, config):
    model = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    # Merges come first to last by rank; SentencePiece's merge order is the score's.
    rank = {}
    for i, merge in enumerate(model["merges"]):
        rank.setdefault("".join(merge.split(" ") if isinstance(merge, str) else merge), i)
    kinds, scores = [], []
    for piece in pieces:
        if piece == "<unk>":
            kinds.append(gguf.TokenType.UNKNOWN)
        elif piece in ("<s>", "</s>"):
            kinds.append(gguf.TokenType.CONTROL)
        elif len(piece) == 6 and piece.startswith("<0x"):
            kinds.append(gguf.TokenType.BYTE)
        else:
            kinds.append(gguf.TokenType.NORMAL)
        scores.append(float(-rank[piece]) if piece in rank else -1e6)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([piece.encode("utf-8") for piece in pieces])
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    config = json.loads((folder / "config.json").read_text("utf-8"))
    if config["model_type"] != "llama":
        raise SystemExit(f"{folder}: model_type is {config['model_type']!r}, expected 'llama'")
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]

    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name(folder.name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    add_tokenizer(writer, folder, config)

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weight in read_safetensors(folder / "model.safetensors"):
        if name.endswith("q_proj.weight"):
            weight = rotary_pairs_adjacent(weight, heads)
        elif name.endswith("k_proj.weight"):
            weight = rotary_pairs_adjacent(weight, kv_heads)
        target = names.get_name(name, try_suffixes=(".weight",))
        if target is None:
            raise SystemExit(f"{folder}: no GGUF name for {name}")
        writer.add_tensor(target, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
