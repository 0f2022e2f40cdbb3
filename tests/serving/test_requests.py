"""Whatever is asked, the server answers, and never with an error of its own."""

import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.serving.conftest import ORIGIN

ROUTES = (
    "/", "/run", "/save", "/compare", "/folders", "/sweep", "/study", "/report", "/made/sweep",
    "/made/study", "/made/compare", "/api/version", "/api/live", "/static/x", "/static/serve.js",
    "/api/note", "/api/cancel", "/api/bench/decode", "/nothing", "/bench", "/strip",
    "/api/bench/encode", "/api/report", "/api/compare", "/api/sweep", "/api/study",
)  # fmt: skip
KNOWN = ("beta-vae-s0-b4", "beta-vae-s1-b1", "beta-vae-s3-failed", ".", "..", "")
RUNS = KNOWN[:3]
JOBS = tuple(f"/api/{kind}?path={path}" for kind in ("report", "sweep", "x") for path in KNOWN)
NAMES = ("path", "q", "sort", "seeds", "open", "cols", "page", "x", "y", "front", "sel", "offset")
WORDS = ("beta>=4", "mig>.3", "-mean.mig", "rate", "min,min", "1", "-1", "9" * 30, "a=b=c", '"')

values = st.one_of(st.sampled_from(KNOWN), st.sampled_from(WORDS), st.text(max_size=30))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3), max_leaves=5,
)  # fmt: skip
bodies = st.one_of(
    st.dictionaries(st.sampled_from(("path", "star", "text", "job", "z")), json_values),
    st.fixed_dictionaries({"path": st.sampled_from(KNOWN), "z": st.lists(st.floats(), max_size=9)}),
    st.fixed_dictionaries({"job": st.sampled_from(JOBS)}),
)
queries = st.tuples(
    # Half of the requests name runs that are there: the others end at the door.
    st.lists(st.tuples(st.just("path"), st.sampled_from(RUNS)), max_size=2),
    st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=4),
).map(lambda both: both[0] + both[1])


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(("GET", "GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS")),
    route=st.sampled_from(ROUTES),
    query=queries,
    body=st.one_of(bodies, st.binary(max_size=50)),
)
def test_two_thousand_requests_meet_no_error_of_the_server(
    client: TestClient, method: str, route: str, query: list[tuple[str, str]], body: object
) -> None:
    text = "&".join(f"{name}={quote(value, errors='replace')}" for name, value in query)
    address = f"{route}?{text}"
    if method in ("POST", "PUT", "DELETE"):
        if isinstance(body, bytes):
            answer = client.request(method, address, content=body, headers=ORIGIN)
        else:
            content = json.dumps(body).encode()
            headers = {**ORIGIN, "Content-Type": "application/json"}
            answer = client.request(method, address, content=content, headers=headers)
    else:
        answer = client.request(method, address)
    assert answer.status_code < 500, (address, answer.text[:200])
