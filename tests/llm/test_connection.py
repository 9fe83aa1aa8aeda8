"""Certificates and proxies by the environment: the same in both lanes, against real servers."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from pytest_convoprobe.errors import LLMRejected, LLMUnavailable
from pytest_convoprobe.llm.connection import other_host
from pytest_convoprobe.llm.direct import Direct
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.redaction import Redactor
from tests.support.chat_server import ChatServer
from tests.support.loopback_proxy import LoopbackProxy

from .adapters import LANES, Adapter
from .requests import KEY, request, settings

VARIABLES = (
    "SSL_CERT_FILE SSL_VERIFY SSL_CERTIFICATE SSL_SECURITY_LEVEL HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES.split():
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
    adapter = request.param(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def authority_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return str(tmp_path / "ca.pem")


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def to(server: ChatServer, **fields: Any) -> LLMRequest:
    return request(model=settings(api_base=server.base_url, timeout=10, **fields))


async def test_a_certificate_of_a_stranger_is_refused(llm: Adapter, tls: ssl.SSLContext) -> None:
    with ChatServer(tls=tls) as server, pytest.raises(LLMUnavailable, match="no connection to openai/fake"):
        await llm.complete(to(server))
    assert server.requests == []


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_VERIFY"])
async def test_an_own_authority_is_trusted(
    llm: Adapter, tls: ssl.SSLContext, authority_file: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, authority_file)
    with ChatServer(["hi"], tls=tls) as server:
        assert (await llm.complete(to(server))).text == "hi"


async def test_certificates_are_not_looked_at_where_that_is_wanted(
    llm: Adapter, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_VERIFY", "False")
    with ChatServer(["hi"], tls=tls) as server:
        assert (await llm.complete(to(server))).text == "hi"


async def test_settings_of_openssl(
    llm: Adapter, tls: ssl.SSLContext, authority_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority_file)
    monkeypatch.setenv("SSL_SECURITY_LEVEL", "DEFAULT@SECLEVEL=1")
    monkeypatch.setenv("SSL_ECDH_CURVE", "no-such-curve")
    monkeypatch.setenv("SSL_CERTIFICATE", "/nowhere.pem")
    with ChatServer(["hi"], tls=tls) as server:
        assert (await llm.complete(to(server))).text == "hi"


async def test_a_plain_call_goes_through_the_proxy(llm: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(["hi"]) as server, LoopbackProxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:word@{proxy.address}")
        assert (await llm.complete(to(server))).text == "hi"
    assert proxy.asked == [f"POST {server.base_url}/chat/completions HTTP/1.1"]
    assert "proxy-authorization: basic dxnlcjp3b3jk" in proxy.headers[0].lower()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_call_over_tls_goes_through_a_tunnel(
    llm: Adapter, tls: ssl.SSLContext, authority_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority_file)
    with ChatServer(["hi"], tls=tls) as server, LoopbackProxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        assert (await llm.complete(to(server))).text == "hi"
    assert proxy.asked == [f"CONNECT {server.base_url.split('/')[2]} HTTP/1.1"]
    assert KEY not in proxy.headers[0]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SSL_CERT_FILE", "{here}/junk.pem", "SSL_CERT_FILE, .* for TLS cannot be used"),
        ("SSL_CERT_FILE", "{here}", "SSL_CERT_FILE, .* for TLS cannot be used"),
        ("SSL_CERTIFICATE", "{here}/junk.pem", "SSL_CERTIFICATE or .* for TLS cannot be used"),
        ("SSL_SECURITY_LEVEL", "nonsense", "SSL_SECURITY_LEVEL has for TLS cannot be used"),
        ("HTTPS_PROXY", "http://me:CANARY@127.0.0.1:port", "the proxy in HTTP_PROXY, .* is not an address"),
        ("ALL_PROXY", "://CANARY", "the proxy in HTTP_PROXY, .* is not an address"),
    ],
)
async def test_variables_that_cannot_be_used_are_named(
    name: str, value: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "junk.pem").write_text("junk")
    monkeypatch.setenv(name, value.format(here=tmp_path))
    direct = Direct()
    with pytest.raises(LLMRejected, match=words) as found:
        await direct.complete(request(model=settings(api_base="https://127.0.0.1:9/v1")))
    await direct.aclose()
    assert "CANARY" not in str(found.value)


async def test_a_proxy_that_is_not_there_is_said_to_be_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:CANARY@127.0.0.1:9")
    direct = Direct()
    with pytest.raises(LLMUnavailable, match=r"the proxy 127\.0\.0\.1:9, which the env") as found:
        await direct.complete(request(model=settings(api_base="http://far.invalid/v1")))
    await direct.aclose()
    assert "CANARY" not in str(found.value)


async def test_hosts_that_need_no_proxy_have_none(llm: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(["hi"]) as server, LoopbackProxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("NO_PROXY", "example.com,127.0.0.1")
        assert (await llm.complete(to(server))).text == "hi"
    assert proxy.asked == []


async def test_passwords_of_a_netrc_file_are_sent_to_nobody(
    llm: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password CANARY\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with ChatServer(["hi", "hi"]) as server:
        for key in (KEY, None):
            await llm.complete(to(server, model="hosted_vllm/fake", api_key=key))
    assert "Basic" not in "".join(sent.headers.get("authorization", "") for sent in server.requests)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("/v2/chat", ""),
        ("chat?x=1", ""),
        ("http://h:1/elsewhere", ""),
        ("https://h:1/x", "https://h:1"),
        ("http://u:secret@other/x?code=secret#secret", "http://other"),
        ("//other:2/x", "http://other:2"),
        ("http://h:99999999/x", "an address that can't be read"),
        ("http://[::1/x", "an address that can't be read"),
    ],
)
def test_where_a_redirect_leads(location: str, host: str) -> None:
    assert other_host("http://h:1/v1/chat", location) == host
