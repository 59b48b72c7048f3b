"""Binary HTTP: every message comes back, and whatever else there is, is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.core.errors import MalformedMessageError
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse, field

names = st.text("abcdefghijklmnopqrstuvwxyz-!#7", min_size=1, max_size=70).map(str.encode)
values = st.binary(max_size=70).filter(lambda value: value.strip(b" \t") == value and not set(value) & set(b"\0\r\n"))
fields = st.lists(st.tuples(names, values), max_size=4).map(tuple)
contents = st.binary(max_size=20_000)
requests = st.builds(BinaryRequest, names, names, values, values.filter(bool), fields, contents, fields)
before = st.lists(st.tuples(st.integers(100, 199), fields), max_size=2).map(tuple)
responses = st.builds(BinaryResponse, st.integers(200, 599), fields, contents, fields, before)


@settings(max_examples=60, deadline=None)
@given(st.one_of(requests, responses), st.integers(0, 2000))
def test_a_message_comes_back_with_any_padding(message, length):
    encoded = message.encode(length=length)
    assert len(encoded) == max(length, len(message.encode()))
    assert type(message).decode(encoded) == message


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([BinaryRequest, BinaryResponse]), st.integers(0, 4), st.binary(max_size=60))
def test_other_bytes_are_a_message_or_malformed_and_nothing_else(kind, form, data):
    try:
        found = kind.decode(bytes((form,)) + data)
    except MalformedMessageError:
        return
    assert kind.decode(found.encode()) == found


REQUEST = BinaryRequest(b"POST", b"https", b"a.example", b"/x", ((b"content-type", b"a/b"),), b"content")
ENDLESS = b"\x02\x04POST\x05https\x00\x02/x"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x04",
        REQUEST.encode()[:-2],
        REQUEST.encode() + b"\0\1",
        BinaryResponse(200).encode(),
        BinaryRequest(b"", b"https", b"", b"/").encode(),
        BinaryRequest(b"GET", b"https", b"", b"").encode(),
        BinaryRequest(b"G T", b"https", b"", b"/").encode(),
        BinaryRequest(b"GET", b"https", b"", b"/\r\n").encode(),
        BinaryRequest(b"GET", b"https", b"", b"/", ((b"", b"x"),)).encode(),
        BinaryRequest(b"GET", b"https", b"", b"/", ((b":path", b"/"),)).encode(),
        BinaryRequest(b"GET", b"https", b"", b"/", ((b"x", b" y"),)).encode(),
        BinaryRequest(b"GET", b"https", b"", b"/", ((b"x", b"y\n"),)).encode(),
        ENDLESS + b"\x01x\x01y",  # nothing says that the fields end
        ENDLESS + b"\x00\x03abc",  # nor that the content does
        ENDLESS + b"\x00\x7f",
    ],
)
def test_what_is_cut_off_or_breaks_the_rules_is_malformed(data):
    with pytest.raises(MalformedMessageError):
        BinaryRequest.decode(data)


@pytest.mark.parametrize("status", [0, 99, 600, 1000])
def test_a_status_is_one_of_http(status):
    with pytest.raises(MalformedMessageError):
        BinaryResponse.decode(BinaryResponse(status).encode())


def test_content_may_come_in_parts():
    assert BinaryRequest.decode(ENDLESS + b"\x00\x03abc\x40\x02de\x00").content == b"abcde"


def test_a_field_that_comes_twice_has_no_single_value():
    assert field(((b"X-A", b"1"), (b"b", b"2")), b"x-a") == b"1"
    assert field(((b"x-a", b"1"), (b"X-A", b"2")), b"x-a") is None
    assert field((), b"x-a") is None


def test_nothing_of_a_message_is_shown():
    assert "content" not in repr(REQUEST)
