"""Bytes of a file damaged at random: flips, cuts, splices, swapped tokens, numbers and texts that parsers dislike."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence

import numpy as np

NASTY = (
    b"", b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b",", b'"', b"'", b"#", b"%", b"--", b"[", b"]", b"{", b"}", b":",
    b"=", b"\\", b"\\u0000", b"\\ud800", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80",
    b"\xe2\x80\xa8", b"\x1b[31m", b"\x85", b"\x0b", b"\x0c", b"\x1c", b"null", b"true", b"NaN", b"Infinity", b"nan",
    b"-inf", b"<b>", b"../..",
)  # fmt: skip
NUMBERS = (
    b"0", b"-1", b"1", b"2", b"3", b"127", b"128", b"255", b"256", b"65536", b"2147483647", b"2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809",
    b"1e308", b"1e309", b"-1e309", b"1e-400", b"1e99999999999", b"0x10", b"1_000", b"0.1.2", b"-0", b"007", b"+5",
    b"nan", b"inf", b"9" * 400, b"9" * 5000, b"0." + b"3" * 400,
)  # fmt: skip
_TOKENS = re.compile(rb"[^\s,:\[\]{}\"=]+|[\s,:\[\]{}\"=]")
_DIGITS = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

Random = np.random.Generator
Mutation = Callable[[bytes, Sequence[bytes], Random], bytes]


def mutated(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """``content`` after one to four mutations; ``others`` are files to splice from."""
    for _ in range(1 + int(rng.integers(4)) * int(rng.random() < 0.5)):
        content = _MUTATIONS[rng.integers(len(_MUTATIONS))](content, others, rng)
    return content


def chosen(values: Sequence[bytes], rng: Random) -> bytes:
    """One of the values."""
    return values[int(rng.integers(len(values)))]


def _stretch(content: bytes, rng: Random) -> tuple[int, int]:
    start = int(rng.integers(len(content) + 1))
    length = int(rng.integers(1, 13)) if rng.random() < 0.7 else int(rng.integers(1, len(content) + 2))
    return start, min(len(content), start + length)


def _flip(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _set(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[rng.integers(len(changed))] = int(rng.integers(256))
    return bytes(changed)


def _cut(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def _delete(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _stretch(content, rng)
    return content[:start] + content[stop:]


def _double(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _stretch(content, rng)
    return content[:stop] + content[start:]


def _insert(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    start, _ = _stretch(content, rng)
    return content[:start] + chosen(NASTY + NUMBERS, rng) * int(rng.choice([1, 1, 1, 2, 300])) + content[start:]


def _splice(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    other = chosen(others, rng) if others else content
    start, stop = _stretch(content, rng)
    first, last = _stretch(other, rng)
    return content[:start] + other[first:last] + content[stop:]


def _swap_tokens(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    tokens = _TOKENS.findall(content)
    if len(tokens) > 1:
        one, other = rng.integers(len(tokens), size=2)
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return b"".join(tokens)


def _replace_token(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    tokens = _TOKENS.findall(content)
    if tokens:
        tokens[int(rng.integers(len(tokens)))] = chosen(NASTY + NUMBERS, rng)
    return b"".join(tokens)


def _replace_number(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    places = [match.span() for match in _DIGITS.finditer(content)]
    if not places:
        return content
    start, stop = places[int(rng.integers(len(places)))]
    return content[:start] + chosen(NUMBERS, rng) + content[stop:]


def _shuffle_lines(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    lines = content.split(b"\n")
    return b"\n".join(lines[place] for place in rng.permutation(len(lines)))


def _pack(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    return gzip.compress(content, 1, mtime=0)


_MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _set, _cut, _delete, _double, _insert, _insert, _splice, _swap_tokens, _replace_token,
    _replace_number, _replace_number, _shuffle_lines, _pack,
)  # fmt: skip
