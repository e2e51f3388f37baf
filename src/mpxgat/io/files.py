"""Files as bytes: opened with every mishap named, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from mpxgat.errors import InputError, OutputError, printable
from mpxgat.io.limits import most_unpacked

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

Content = bytes | Callable[[Path], None]
"""What to write: the bytes, or a function that writes to the (temporary) path it is given."""


def check_readable(path: Path) -> None:
    """InputError unless ``path`` is a file with something in it, or a pipe."""
    try:
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
    content = read_bytes(path)
    for mark, encoding in _WIDE_BOMS.items():
        if content.startswith(mark):
            raise InputError(f"the text is {encoding}, expected UTF-8", path, 1)
    content = content.removeprefix(_BOM)
    try:
        if not content.isascii():
            content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise InputError(f"byte 0x{content[problem.start]:02x} is not UTF-8 text", path, line) from None
    if b"\0" in content:
        raise InputError("a NUL byte, expected text", path, content.count(b"\n", 0, content.index(b"\0")) + 1)
    return content


def read_text(path: Path) -> bytes:
    """As `read_utf8`, with every line end made a line feed."""
    content = read_utf8(path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def write_files(files: Mapping[Path, Content]) -> list[Path]:
    """Write all files, or none: each goes to a temporary file beside its place, then all are renamed.

    Bytes for a name that ends in ``.gz`` are packed on the way.
    """
    temporary: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
            temporary[path] = Path(name)
            with os.fdopen(handle, "wb") as stream:
                if isinstance(content, bytes):
                    stream.write(_packed(content) if path.name.lower().endswith(".gz") else content)
            if not isinstance(content, bytes):
                content(Path(name))
            with open(name, "rb+") as stream:
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_umask())
        for path in files:  # all are looked at before the first is renamed
            _refuse_to_replace(path)
        for path, name_ in temporary.items():
            os.replace(name_, path)
    except (OSError, ValueError) as problem:
        raise OutputError(f"{printable(path, 300)}: cannot write: {_reason(problem)}") from None
    finally:
        for leftover in temporary.values():
            leftover.unlink(missing_ok=True)
    return list(files)


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
