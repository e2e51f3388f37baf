"""Who gets an answer from the server of a review, and who does not."""

import http.client
import json
import socket
import threading

import pytest

from mpxgat.errors import OutputError
from mpxgat.review.decisions import DecisionsFile
from mpxgat.review.server import ReviewServer
from tests.review.test_session import FIRST, GRAPH, made


@pytest.fixture
def server(tmp_path):
    with ReviewServer(made(tmp_path)) as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def ask(server, path, body=None, **headers):
    """Status, headers and content; ``body`` makes it a POST. A header of None is left out."""
    host = f"127.0.0.1:{server.server_port}"
    given = {"Host": host, "Origin": f"http://{host}", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest("GET" if body is None else "POST", path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    if body is not None and "Content-Length" not in given:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply.headers, content


def post(server, name, request, **headers):
    return ask(server, f"/{server.token}/{name}", json.dumps({"window": "w", **request}).encode(), **headers)


def test_it_listens_to_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert len(server.token) >= 32


def test_the_page_may_do_nothing_but_talk_to_its_server(server):
    for name, kind in (("", "text/html"), ("review.js", "text/javascript"), ("review.css", "text/css")):
        status, headers, content = ask(server, f"/{server.token}/{name}", Origin=None)
        assert (status, headers.get_content_type()) == (200, kind)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert b"http://" not in content.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in content


@pytest.mark.parametrize("path", ["/", "/{}", "/wrong/", "/wrong/question", "/x/{}/", "/{}x/", "/?token={}", "*"])
def test_without_the_token_there_is_nothing(server, path):
    for body in (None, b'{"window": "w"}'):
        status, _, content = ask(server, path.format(server.token), body)
        assert (status, content) == (403, b"Forbidden\n")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "evil.example:{}"])
def test_under_another_name_there_is_nothing(server, host):
    host = host.format(server.server_port)
    for name, body in (("", None), ("question", b'{"window": "w"}')):
        for origin in (f"http://{host}", f"http://127.0.0.1:{server.server_port}"):
            assert ask(server, f"/{server.token}/{name}", body, Host=host, Origin=origin)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{}", ""])
def test_from_another_origin_there_is_nothing(server, origin):
    origin = origin.format(server.server_port)
    assert ask(server, f"/{server.token}/", Origin=origin)[0] == 403
    assert post(server, "question", {}, Origin=origin)[0] == 403


def test_answers_need_an_origin(server, tmp_path):
    post(server, "question", {})
    assert post(server, "answer", {"pair": FIRST, "answer": "accept"}, Origin=None)[0] == 403
    assert DecisionsFile(tmp_path, GRAPH).read() == []


def test_a_question_and_its_answer(server, tmp_path):
    status, headers, content = post(server, "question", {})
    assert (status, headers.get_content_type()) == (200, "application/json")
    assert tuple(json.loads(content)["question"]["pair"]) == FIRST
    status, _, content = post(server, "answer", {"pair": FIRST, "answer": "accept", "note": "same photo"})
    assert status == 200
    (told,) = DecisionsFile(tmp_path, GRAPH).read()
    assert (told.pair, told.answer, told.note) == (FIRST, "accept", "same photo")
    assert json.loads(content)["progress"]["counts"]["accepted"] == 1
    assert post(server, "undo", {"pair": FIRST})[0] == 200
    local = f"localhost:{server.server_port}"
    assert post(server, "question", {}, Host=local, Origin=f"http://{local}")[0] == 200


@pytest.mark.parametrize(
    ("name", "request_", "said"),
    [
        ("answer", {"pair": FIRST, "answer": "accept"}, "no longer asked about"),
        ("answer", {"pair": [1], "answer": "accept"}, "no pair of nodes"),
        ("answer", {"pair": FIRST, "answer": 3}, "answer is no text"),
        ("answer", {"pair": FIRST, "answer": "accept", "note": "\ud800"}, "note is no text"),
        ("undo", {"pair": FIRST}, "nothing is said of this pair"),
    ],
)
def test_what_cannot_be_done_is_told(server, name, request_, said):
    status, _, content = post(server, name, request_)
    assert status == 409
    assert said in json.loads(content)["error"]


@pytest.mark.parametrize(
    ("body", "length", "status"),
    [(b"{", "1", 400), (b"[]", "2", 400), (b"", "-1", 413), (b"", "1000000000", 413), (b"", "x", 400), (b"", "", 400)],
)
def test_damaged_requests(server, body, length, status):
    assert ask(server, f"/{server.token}/question", body, **{"Content-Length": length})[0] == status


def test_other_names_are_not_there(server):
    assert ask(server, f"/{server.token}/../config.json")[0] == 404
    assert ask(server, f"/{server.token}/model.safetensors")[0] == 404
    assert post(server, "delete", {})[0] == 404


def test_an_error_of_our_own_ends_no_review(server, monkeypatch, capsys):
    def broken(window):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(server.session, "question", broken)
    status, _, content = post(server, "question", {})
    assert status == 500
    assert json.loads(content) == {"error": "an error of mpxgat itself; the terminal says more"}
    assert "a mistake" in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OutputError, match=f"cannot serve at port {port}: Address already in use; --port 0"):
            ReviewServer(made(tmp_path), port)
