"""Files: opened with every mishap named, written whole or not at all, one file or a set of them.

Also here: how much a file may grow to when it is read (`most_unpacked`, `check_filled`, `taken`), JSON Lines files that
are added to, and TOML files.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import stat
import tempfile
import time
import tomllib
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.errors import InputError, OutputError, SettingError, printable, quoted, warn_of_data

try:
    import fcntl
except ImportError:  # Windows has no such module
    fcntl = None  # type: ignore[assignment]

_BOM = b"\xef\xbb\xbf"
_MARKS = {  # the longer ones first
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    _BOM: "UTF-8",
}

Content = bytes | Callable[[Path], None]
"""What to write: the bytes, or a function that writes to the (temporary) path it is given."""


def check_readable(path: Path) -> None:
    """InputError unless ``path`` is a file with something in it, or a pipe; an interrupted write is finished first."""
    try:
        _finish_if_begun(path.parent)
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError("this is a directory, expected a file", path)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            raise InputError("this is a device, expected a file", path)
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:  # a pipe's size is 0 whatever comes out of it
            raise InputError("the file is empty", path)
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        raise InputError(_reason(problem), path) from None


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it is gzip (told by its first two bytes)."""
    check_readable(path)
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content, path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise InputError(f"the gzip data is damaged or cut off ({printable(problem)})", path) from None
    except OSError as problem:
        raise InputError(_reason(problem), path) from None
    if not content.strip():
        raise InputError("the file is empty", path)
    return content


def _unpacked(content: bytes, path: Path) -> bytes:
    most = most_unpacked(len(content))
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        unpacked = stream.read(most + 1)
    if len(unpacked) > most:
        raise InputError(
            f"the gzip file of {len(content)} bytes unpacks to more than {most}; if that is meant, unpack it first",
            path,
        )
    return unpacked


def read_utf8(path: Path) -> bytes:
    """The content of a text file as valid UTF-8 bytes without byte-order mark; line ends as they are."""
    return read_encoded(path)[0]


def read_encoded(path: Path, encoding: str | None = None, advice: str = "") -> tuple[bytes, str]:
    """As `read_utf8`, and the name of the encoding that the file is in.

    A byte-order mark tells UTF-8 and UTF-16. A text without one is in ``encoding``, by default UTF-8; ``advice`` is
    added to the error if that is not so. SettingError if there is no such encoding.
    """
    check_encoding(encoding)
    content = read_bytes(path)
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), None)
    if marked == "UTF-32":
        raise InputError("the text is UTF-32, expected UTF-8", path, 1)
    content = content.removeprefix(_BOM)
    used = marked or encoding or "UTF-8"
    try:
        if not (content.isascii() and _holds_ascii(used)):
            text = content.decode(used)
            if codecs.lookup(used).name != "utf-8":
                if marked is None and _is_utf8(content):
                    warn_of_data(f"read as {printable(used)}, as asked for, but it looks like UTF-8 text", path)
                content = text.encode().removeprefix(_BOM)
    except UnicodeDecodeError as problem:
        line = content[: problem.start].decode(used, "ignore").count("\n") + 1
        found = f"byte 0x{content[problem.start]:02x} is not {printable(used)} text"
        raise InputError(found + (advice if used == "UTF-8" else ""), path, line) from None
    except UnicodeError as problem:  # some encodings of Python know nothing better
        raise InputError(f"this is not {printable(used)} text ({printable(problem)})", path) from None
    if b"\0" in content:
        raise InputError("a NUL byte, expected text", path, content.count(b"\n", 0, content.index(b"\0")) + 1)
    return content, used


def check_encoding(encoding: str | None) -> None:
    """SettingError unless ``encoding`` is None or the name of an encoding of text."""
    try:
        b"a".decode(encoding or "UTF-8")
    except (LookupError, ValueError) as problem:
        if isinstance(problem, UnicodeError):  # of two bytes a letter, say
            return
        raise SettingError(f"no encoding {quoted(encoding)}; known are utf-8, utf-16, cp1252, latin-1 …") from None


def _is_utf8(content: bytes) -> bool:
    """Whether bytes are UTF-8 with letters beyond ASCII; what is written in another encoding hardly ever is."""
    try:
        return not content.isascii() and bool(content.decode())
    except UnicodeDecodeError:
        return False


def _holds_ascii(encoding: str) -> bool:
    """Whether bytes below 128 mean the same in this encoding as in ASCII, so that such a text need not be decoded."""
    return codecs.lookup(encoding).name in ("utf-8", "cp1252", "iso8859-1", "iso8859-15")


def read_text(path: Path) -> bytes:
    """As `read_utf8`, with every line end made a line feed."""
    content = read_utf8(path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


# ---- writing -----------------------------------------------------------------------------------------

_NEW, _JOURNAL = ".new", ".mpxgat-journal"
_STALE_SECONDS = 3600  # after which a temporary file that nobody renamed is one that a kill left


def write_files(files: Mapping[Path, Content]) -> list[Path]:
    """Write all files, or none, even if the process is killed or the machine goes down meanwhile.

    Each goes to a temporary file beside its place, then all are renamed. Before the first of several is renamed, a
    journal of the renames is put in place, and from that moment the new files count: whoever next reads or writes in
    its folder does what is left. The files lie in one folder and folders below it.

    Bytes for a name that ends in ``.gz`` are packed on the way.
    """
    temporary: dict[Path, Path] = {}
    folder = min((path.parent for path in files), key=lambda parent: len(parent.parts), default=Path())
    try:
        for path in files:
            _finish_if_begun(path.parent)
        for path, content in files.items():
            _remove_leftovers(path)
            handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=_NEW, dir=path.parent)
            os.close(handle)
            temporary[path] = Path(name)
            if isinstance(content, bytes) and path.name.lower().endswith(".gz"):
                content = _packed(content)
            _fill(Path(name), content)
        for path in files:  # all are looked at before the first is renamed
            _refuse_to_replace(path)
        if len(temporary) == 1:
            os.replace(temporary[path], path)
            _sync(folder)
        elif temporary:
            _rename_all(temporary, folder)
    except (OSError, ValueError) as problem:
        raise OutputError(f"{printable(path, 300)}: cannot write: {_reason(problem)}") from None
    finally:
        if len(temporary) == 1 or not (folder / _JOURNAL).is_file():  # else they are the journal's
            for leftover in temporary.values():
                with suppress(OSError):
                    leftover.unlink(missing_ok=True)
    return list(files)


def finish_writing(folder: Path) -> None:
    """Do the renames that an interrupted `write_files` left in a folder. Readers need not call it: all files are opened
    through `check_readable`, which does.
    """
    try:
        _finish_if_begun(folder)
    except (OSError, ValueError) as problem:
        raise OutputError(f"{printable(folder, 300)}: {_reason(problem)}") from None


def _rename_all(temporary: Mapping[Path, Path], folder: Path) -> None:
    """Put files in place that lie in ``folder`` or below it. One process at a time does so in a folder."""
    places = {new.relative_to(folder): old.name for new, old in temporary.items()}
    renames = [[str(new.with_name(old)), str(new)] for new, old in places.items()]
    with _locked(folder):
        _finish(folder)
        for parent in {new.parent for new in temporary}:
            _sync(parent)
        journal = folder / f"{_JOURNAL}{_NEW}"
        try:
            with open(journal, "wb") as stream:
                stream.write(json.dumps(renames).encode())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(journal, folder / _JOURNAL)
        finally:
            journal.unlink(missing_ok=True)
        _sync(folder)
        _finish(folder)


def _finish_if_begun(folder: Path) -> None:
    if os.path.isfile(folder / _JOURNAL):
        with _locked(folder):
            _finish(folder)


def _finish(folder: Path) -> None:
    """Do what a journal says, if there is one. A temporary file that is gone has been renamed already."""
    journal = folder / _JOURNAL
    if not journal.is_file():
        return
    renames = _read_journal(journal)
    try:
        for old, new in renames:
            with suppress(FileNotFoundError):
                os.replace(old, new)
        for parent in {new.parent for _, new in renames}:
            _sync(parent)
        journal.unlink()
    except OSError as problem:
        raise OSError(None, f"an interrupted write cannot be finished ({_reason(problem)})") from None


def _read_journal(journal: Path) -> list[tuple[Path, Path]]:
    """Temporary files and their places. A journal may come from a stranger, so it reaches no other folder."""
    try:
        names = [(Path(old), Path(new)) for old, new in json.loads(journal.read_bytes())]
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"{_JOURNAL} beside it is damaged; delete it") from None
    for old, new in names:
        beside = old.parent == new.parent and old.name.startswith(_prefix(new)) and old.suffix == _NEW
        if not beside or new.is_absolute() or ".." in new.parts:
            raise ValueError(f"{_JOURNAL} beside it is none of ours; delete it")
    return [(journal.parent / old, journal.parent / new) for old, new in names]


def _prefix(path: Path) -> str:
    """What the name of a temporary file for ``path`` begins with; short, as a name has at most 255 bytes."""
    return f".{path.name[:50]}."


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files that a kill left long ago, before their journal was in place."""
    for leftover in path.parent.glob(f"{escape(_prefix(path))}*{_NEW}"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                leftover.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes that write into a folder waiting, where the system can; a kill lets them in."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems know no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    """Have the names in a folder on disk, where the system can (Windows opens no folders)."""
    if fcntl is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fill(temporary: Path, content: Content) -> None:
    """Write a temporary file to the disk, for everyone to read as a new file is."""
    if isinstance(content, bytes):
        temporary.write_bytes(content)
    else:
        content(temporary)
    with open(temporary, "rb+") as stream:
        os.fsync(stream.fileno())
    os.chmod(temporary, 0o666 & ~_umask())


def _packed(content: bytes) -> bytes:
    """As gzip, without a date: the same bytes for the same content; stored as it is if `read_bytes` would refuse it."""
    packed = gzip.compress(content, mtime=0)
    return packed if len(content) <= most_unpacked(len(packed)) else gzip.compress(content, 0, mtime=0)


def _refuse_to_replace(path: Path) -> None:
    """OSError unless the place is free or taken by a plain file; renaming over /dev/null would do away with it."""
    if path.is_dir():
        raise IsADirectoryError(None, "a directory of this name is in the way")
    if path.exists() and not path.is_file():
        raise FileExistsError(None, "a device or pipe of this name is in the way")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(problem: Exception) -> str:
    if isinstance(problem, FileNotFoundError):
        return "no such file or folder"
    return printable(getattr(problem, "strerror", None) or problem)


# ---- how much a file may grow to when it is read -----------------------------------------------------

# Packed bytes are unpacked, cells that a file leaves out are filled up, what is said once of a unit is given to all its
# nodes. Each is useful, and each can make gigabytes of a few kilobytes: to fill the memory, or by mistake.
# Text of networks packs to a tenth or so. What packs to less than a hundredth says the same again and again.
_UNPACKED_FOR_A_BYTE, _LEAST_UNPACKED = 100, 1 << 24
# A cell that is there takes two bytes and more of the file.
_CELLS_FOR_A_BYTE, _LEAST_CELLS = 5, 1 << 21
_REPEATED_FOR_A_BYTE, _LEAST_REPEATED = 5, 1 << 26


def most_unpacked(packed: int, least: int = _LEAST_UNPACKED) -> int:
    """Bytes that so many packed bytes may unpack to."""
    return max(least, _UNPACKED_FOR_A_BYTE * packed)


def check_filled(rows: int, columns: int, size: int, path: Path) -> None:
    """InputError if a table with a cell for every node and column is too large for a file of ``size`` bytes."""
    most = max(_LEAST_CELLS, _CELLS_FOR_A_BYTE * size)
    if rows * columns > most:
        raise InputError(
            f"{columns} columns about {rows} nodes, most of them left out, would fill up to {rows * columns} cells, "
            f"expected at most {most} in a file of this size",
            path,
        )


def taken(column: pa.LargeStringArray, rows: pa.Array, name: str, size: int, path: Path) -> pa.LargeStringArray:
    """``column.take(rows)``; InputError if texts that stand in the file once would be repeated too often."""
    lengths = np.append(pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False), 0)
    total = int(lengths[pc.fill_null(rows, len(column)).to_numpy(zero_copy_only=False)].sum())
    most = max(_LEAST_REPEATED, _REPEATED_FOR_A_BYTE * size)
    if total > most:
        raise InputError(
            f"{quoted(name)} given to every node would take {total} bytes, expected at most {most} "
            "for a file of this size",
            path,
        )
    return column.take(rows)


# ---- JSON Lines files: added to line by line, each written whole; a last one that a crash cut off is none

Line = tuple[int, dict[str, Any]]
"""A line's number, from 1, and the object on it."""


def read_json_lines(path: Path, what: str) -> list[Line]:
    """The objects in a file, none if there is no file; InputError names a line that is "not ``what``"."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"cannot read: {printable(problem.strerror)}", path) from None
    lines = content[: content.rfind(b"\n") + 1].split(b"\n")
    return [(number, _parsed(line, what, path, number)) for number, line in enumerate(lines, 1) if line.strip()]


def append_json_line(path: Path, value: Mapping[str, Any]) -> None:
    """Add a line at the end, on disk when this returns; OutputError, and the file as it was, if that cannot be."""
    line = json.dumps(value, allow_nan=False).encode() + b"\n"
    try:
        with open(path, "ab+") as stream:
            stream.seek(0)
            end = stream.read().rfind(b"\n") + 1
            try:
                stream.truncate(end)
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(path, end)
                raise
    except OSError as problem:
        raise OutputError(f"{printable(path, 300)}: cannot write: {printable(problem.strerror)}") from None


def _parsed(line: bytes, what: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"not {what} ({printable(problem)})", path, number) from None
    if not isinstance(value, dict):
        raise InputError(f"not {what} (a JSON {type(value).__name__})", path, number)
    return value


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """A JSON file; the same value gives the same bytes."""
    return (json.dumps(value, indent=1) + "\n").encode()


def read_json(path: Path, kind: str) -> dict[str, Any]:
    """The JSON object of the given kind in a file; InputError if it is damaged or something else."""
    try:
        value = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"damaged, or no JSON ({printable(problem)})", path) from None
    found = value.get("kind") if isinstance(value, dict) else None
    if found != kind:
        raise InputError(f"the file is of kind {printable(found)}, expected {kind}", path)
    return dict(value)


# ---- TOML files --------------------------------------------------------------------------------------

# They hold settings and are small. A larger one, or a key of hundreds of parts, for which the parser would take memory
# in the square of their number, is refused.
_MOST_BYTES = 1 << 20
_MOST_DOTS = 200
_NUMBER = re.compile(rb"(?<![.\w])[0-9_]+\.[0-9_]+(?:[eE][-+]?[0-9]+)?(?![.\w])")
_PLACE_IN_MESSAGE = re.compile(r" \(at line (\d+), column \d+\)$")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; InputError, with the line where it is known, if it is none."""
    content = read_text(path)
    if len(content) > _MOST_BYTES:
        raise InputError(f"{len(content)} bytes, expected a TOML file of at most {_MOST_BYTES}", path)
    for place, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") > _MOST_DOTS and _NUMBER.sub(b"", line).count(b".") > _MOST_DOTS:
            raise InputError(f"more than {_MOST_DOTS} dots in a line, expected keys of few parts", path, place)
    try:
        return tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        found = _PLACE_IN_MESSAGE.search(message)
        number = int(found[1]) if found else None
        raise InputError(f"not TOML: {_PLACE_IN_MESSAGE.sub('', message)}", path, number) from None
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, lists within lists without end
        raise InputError(f"not TOML: {printable(problem)}", path) from None
