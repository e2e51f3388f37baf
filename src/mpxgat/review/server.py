"""A server for one page on this machine: the loopback address only, a token in the address, no request elsewhere.

Who does not know the token gets nothing, neither does a page of another origin, nor a name that was made to point to
this machine (Host). Texts from the network travel as JSON, and the page's script shows them as text.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any

from mpxgat.errors import MpxgatError, OutputError, SettingError, printable
from mpxgat.report.page import asset
from mpxgat.review.session import Session

_HOST = "127.0.0.1"
_MOST_BYTES = 1 << 16  # of a request
_SECONDS = 30  # that a request may take to arrive
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The explorer's drawing and waterfall; in this order they are one script.
_DRAWING = ("elements", "network", "layout", "drawing", "candidates")


class ReviewServer(ThreadingHTTPServer):
    """Serves a session at ``address`` until it is shut down."""

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0):
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.files = _files()
        try:
            super().__init__((_HOST, port), _Handler)
        except (OSError, OverflowError) as problem:
            reason = printable(getattr(problem, "strerror", None) or problem)
            raise OutputError(f"cannot serve at port {port}: {reason}; --port 0 takes a free one") from None

    def server_bind(self) -> None:
        """As any server, without asking the network for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """To be opened in a browser; who has it may answer."""
        return f"http://{_HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call this server."""
        return tuple(f"{name}:{self.server_port}" for name in (_HOST, "localhost"))


def _files() -> dict[str, tuple[str, bytes]]:
    """What can be fetched, by its name below the token: type and content."""
    scripts = "\n".join([*(asset(f"explorer/{name}.js") for name in _DRAWING), _asset("review.js")])
    styles = "\n".join([asset("page.css"), asset("explorer/explorer.css"), _asset("review.css")])
    return {
        "": ("text/html", _asset("review.html").encode()),
        "review.js": ("text/javascript", scripts.encode()),
        "review.css": ("text/css", styles.encode()),
    }


def _asset(name: str) -> str:
    return (files("mpxgat.review") / "assets" / name).read_text(encoding="utf-8")


class _RefusedError(Exception):
    """A request that gets no answer but a status."""

    def __init__(self, status: HTTPStatus):
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: ReviewServer
    timeout = _SECONDS
    server_version, sys_version = "mpxgat", ""

    def do_GET(self) -> None:
        """The page, its script, its style."""
        self._answer(self._file)

    def do_POST(self) -> None:
        """Questions and answers."""
        self._answer(self._result)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: lines with the token belong into no terminal."""

    def _answer(self, make: Callable[[str], tuple[HTTPStatus, str, bytes]]) -> None:
        try:
            status, kind, content = make(self._name())
        except _RefusedError as refused:
            status, kind, content = refused.status, "text/plain", f"{refused.status.phrase}\n".encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _name(self) -> str:
        """What is asked for, below the token; `_RefusedError` unless host, origin and token are ours."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        token, slash, name = self.path.removeprefix("/").partition("/")
        ours = host in self.server.hosts and origin in (None, f"http://{host}")
        if not ours or not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise _RefusedError(HTTPStatus.FORBIDDEN)
        return name

    def _file(self, name: str) -> tuple[HTTPStatus, str, bytes]:
        if name not in self.server.files:
            raise _RefusedError(HTTPStatus.NOT_FOUND)
        return HTTPStatus.OK, *self.server.files[name]

    def _result(self, name: str) -> tuple[HTTPStatus, str, bytes]:
        if self.headers.get("Origin") is None:  # browsers always say it here
            raise _RefusedError(HTTPStatus.FORBIDDEN)
        request = self._request()
        try:
            result, status = _reply(self.server.session, name, request), HTTPStatus.OK
        except MpxgatError as problem:
            result, status = {"error": str(problem)}, HTTPStatus.CONFLICT
        except _RefusedError:
            raise
        except Exception:
            sys.stderr.write(traceback.format_exc())
            result = {"error": "an error of mpxgat itself; the terminal says more"}
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        return status, "application/json", json.dumps(result).encode()

    def _request(self) -> Mapping[str, Any]:
        try:
            length = int(self.headers.get("Content-Length", ""))
            if not 0 <= length <= _MOST_BYTES:
                raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            request = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST) from None
        if not isinstance(request, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST)
        return request


def _reply(session: Session, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    window = _text(request, "window")
    if name == "question":
        return session.question(window)
    if name == "answer":
        return session.answer(window, _pair(request), _text(request, "answer"), _text(request, "note"))
    if name == "undo":
        return session.undo(window, _pair(request))
    raise _RefusedError(HTTPStatus.NOT_FOUND)


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str) or not _is_unicode(value):
        raise SettingError(f"{name} is no text")
    return value


def _is_unicode(value: str) -> bool:
    """Whether a text can be written: half of a character that stands alone cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _pair(request: Mapping[str, Any]) -> tuple[int, int]:
    match request.get("pair"):
        case [int(first), int(second)]:
            return first, second
    raise SettingError("no pair of nodes")
