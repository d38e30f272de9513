import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mdurl import _encode

from stepscope.dashboard.page import safe_html
from stepscope.dashboard.page.safe_html import MOST_CHARACTERS, markdown_html, raw_text, rendered, text_html
from stepscope.summary import SummaryWriter
from stepscope.summary.proto.summary_pb2 import Summary
from tests.dashboard.media import client_of

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def strings(content: Any) -> Any:
    return np.array(content, dtype=object)


def in_order(html: str) -> str:
    """The HTML with every tag's attributes sorted; the sanitizer returns them in any order."""
    return re.sub(r"(?<=<a )[^>]*", lambda found: " ".join(sorted(found[0].split())), html)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("# a\n\n**b** `c`", "<h1>a</h1>\n<p><strong>b</strong> <code>c</code></p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("a <script>alert(1)</script>", "<p>a &lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("a <img src=x onerror=alert(1)>", "<p>a &lt;img src=x onerror=alert(1)&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](JaVaScRiPt:alert(1))", "<p>[a](JaVaScRiPt:alert(1))</p>"),
        ("[a](data:text/html;base64,PHNjcmlwdD4=)", "<p>[a](data:text/html;base64,PHNjcmlwdD4=)</p>"),
        ("[a](/data/runs)", '<p><a rel="noopener noreferrer" target="_blank">a</a></p>'),
        ("[a](https://b.c)", '<p><a href="https://b.c" rel="noopener noreferrer" target="_blank">a</a></p>'),
        (
            "![a](https://b.c/d.png)",
            '<p><a href="https://b.c/d.png" rel="noopener noreferrer" target="_blank">image: a</a></p>',
        ),
        (f"![a]({PIXEL})", f'<p><img src="{PIXEL}" alt="a"></p>'),
        ("![a](data:image/svg+xml;base64,PHN2Zz4=)", "<p>![a](data:image/svg+xml;base64,PHN2Zz4=)</p>"),
        ("", ""),
        ("a\x00b", "<p>ab</p>"),
        # HTML that TensorBoard renders.
        ("<pre>a: 1\n\nb: <c>\n</pre>\n\n*d*", "<pre>a: 1\n\nb: &lt;c&gt;\n</pre>\n<p><em>d</em></p>"),
        ("a<br>b<br/>c", "<p>a<br>b<br>c</p>"),
        ("<h2>a</h2>", "<h2>a</h2>"),
        ("<ul>\n<li>a</li>\n</ul>", "<ul>\n<li>a</li>\n</ul>"),
        ("<table><tr><td>1</td></tr></table>", "<table><tbody><tr><td>1</td></tr></tbody></table>"),
        ("a <code>b</code> <em>c</em>", "<p>a <code>b</code> <em>c</em></p>"),
        (
            "<a href='https://b.c' onclick=alert(1)>d</a>",
            '<p><a href="https://b.c" rel="noopener noreferrer" target="_blank">d</a></p>',
        ),
        (f"<img src='{PIXEL}' alt=a onerror=alert(1)>", f'<img src="{PIXEL}" alt="a">'),
        # No other HTML.
        ("<p onclick=a style='b'>c</p>", "<p>c</p>"),
        ("<a href='javascript:alert(1)'>a</a>", '<p><a rel="noopener noreferrer" target="_blank">a</a></p>'),
        ("<img src=https://a.b/c.png>", "<p>&lt;img src=https://a.b/c.png&gt;</p>"),
        (
            "<pre><script>a</script><style>b</style></pre>",
            "<pre>&lt;script&gt;a&lt;/script&gt;&lt;style&gt;b&lt;/style&gt;</pre>",
        ),
        ("<iframe src=//a></iframe>", "<p>&lt;iframe src=//a&gt;&lt;/iframe&gt;</p>"),
        ("<form action=/a><input>", "<p>&lt;form action=/a&gt;&lt;input&gt;</p>"),
        ("<pre>\n<svg/onload=a>", "<pre>&lt;svg/onload=a&gt;</pre>"),
        ("</td></table>a", "a"),
        # Tokens and thoughts of language models are text.
        ("<s> a </s> <bos>", "<p>&lt;s&gt; a &lt;/s&gt; &lt;bos&gt;</p>"),
        ("<think>\n**a**\n</think>", "<p>&lt;think&gt;\n<strong>a</strong>\n&lt;/think&gt;</p>"),
    ],
)
def test_markdown_is_safe(source: str, html: str) -> None:
    assert in_order(markdown_html(source)) == in_order(html)


ATTACKS = st.sampled_from(
    ["<script>", "<img src=x onerror=alert(1)>", "<svg onload=a>", "javascript:", "](", "![", "[", ")", "data:", "`",
     "<pre>", "</pre>", "<a href=", "<p onclick=alert(1) ", "</td>", "<table>", "<form>", "<!--", "style=a",
     "\n", "|", "<", ">", '"', "'", "&#x6a;", "http://a.b", " ", "-", "<style>", "<iframe src=//a>", "\\"]
)  # fmt: skip


@given(st.lists(ATTACKS, max_size=12).map("".join), st.booleans())
def test_no_text_brings_in_markup_of_its_own(source: str, markdown: bool) -> None:
    html = text_html(strings(source), markdown=markdown).html
    for tag in re.findall(r"<[^>]*>", html):
        assert re.fullmatch(
            r"</?(a|blockquote|br|code|del|em|h\d|hr|li|ol|p|pre|s|strong|table|tbody|td|th|thead|tr|ul)"
            r'( (href="(https?|mailto):[^"]*"|rel="noopener noreferrer"|target="_blank"|title="[^"]*"|start="\d+"))*>',
            tag,
        ), tag


@given(st.text(st.sampled_from("aZ0 9,.;:?%/()='\"+$^{}@|#-\n*_~&<\\\t!"), max_size=24))
@example("a | b\nc - d\n-- | --")
@example("a\n===")
@example("a  \nb")
@example("a\n    b")
def test_sentences_are_what_parser_and_sanitizer_make_of_them(source: str) -> None:
    assert markdown_html(source) == (rendered(source) if source else "")


def test_sentences_and_what_was_seen_before_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = markdown_html("*seen* before")
    monkeypatch.setattr(safe_html, "sanitize", None)
    assert markdown_html('Loss at step 7 is "0.25",\nand falls (a|b).') == (
        '<p>Loss at step 7 is "0.25",\nand falls (a|b).</p>'
    )
    assert markdown_html("*seen* before") == seen == "<p><em>seen</em> before</p>"


def test_vectors_and_matrices_are_tables() -> None:
    assert text_html(strings(["a", "*b*"]), markdown=True).html == (
        "<table>\n<tbody>\n<tr>\n<td><p>a</p></td>\n</tr>\n<tr>\n<td><p><em>b</em></p></td>\n</tr>\n</tbody>\n</table>"
    )
    assert text_html(strings([["a", "b"]]), markdown=False).html == (
        "<table>\n<tbody>\n<tr>\n<td><pre>a</pre></td>\n<td><pre>b</pre></td>\n</tr>\n</tbody>\n</table>"
    )


def test_more_axes_show_the_first_matrix_and_say_so() -> None:
    rendered = text_html(strings([[["a"]], [["b"]]]), markdown=True)
    assert rendered.html == "<table>\n<tbody>\n<tr>\n<td><p>a</p></td>\n</tr>\n</tbody>\n</table>"
    assert rendered.notice == "The first matrix of 3 axes of shape [2, 1, 1]."


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2), (2, 0, 2)])
def test_a_table_without_cells_is_no_error(shape: tuple[int, ...]) -> None:
    rendered = text_html(np.empty(shape, dtype=object), markdown=True)
    assert "<td>" not in rendered.html


def test_huge_texts_are_cut_with_a_notice() -> None:
    rendered = text_html(strings("<" * (MOST_CHARACTERS + 1)), markdown=True)
    assert rendered.html == f"<pre>{'&lt;' * MOST_CHARACTERS}</pre>"
    assert rendered.notice == (
        "Truncated: 1 MB of 1 MB are shown. Shown as plain text: longer than 100 kB, the limit for Markdown."
    )
    many = text_html(strings(["x"] * 2001), markdown=False)
    assert (many.html.count("<td>"), many.notice) == (2000, "The first 2,000 of 2,001 rows.")


def test_copies_are_as_written() -> None:
    assert raw_text(strings("*a*")) == "*a*"
    assert raw_text(strings([["a", "b"], ["c", "d"]])) == "a\tb\nc\td"
    assert raw_text(strings([[], [], []])) == "\n\n"


def test_routes(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_text("note", "*x* <b>", 1, walltime=100.0)
        writer.add_text("note", ["y"], 2, walltime=101.0)
        writer.add_summary(Summary(value=[Summary.Value(tag="note/text_summary", simple_value=1.0)]), 3, walltime=102.0)
    client = client_of(tmp_path)
    where: dict[str, Any] = {"run": "a", "tag": "note/text_summary"}
    table = "<table>\n<tbody>\n<tr>\n<td><p>y</p></td>\n</tr>\n</tbody>\n</table>"
    assert client.get("/data/plugin/text/tags").json() == {"a": ["note/text_summary"]}
    assert client.get("/data/plugin/text/text", params=where).json() == [
        {"wall_time": 100.0, "step": 1, "text": "<p><em>x</em> &lt;b&gt;</p>"},
        {"wall_time": 101.0, "step": 2, "text": table},
    ]
    entries = client.get("/api/text/entries", params={**where, "start": 0, "stop": 9}).json()
    assert entries[-2:] == [
        {"index": 1, "step": 2, "wall": 101.0, "html": table, "notice": "", "error": "", "form": "table", "words": []},
        {
            "index": 0,
            "step": 1,
            "wall": 100.0,
            "html": "<p><em>x</em> &lt;b&gt;</p>",
            "notice": "",
            "error": "",
            "form": "text",
            "words": [],
        },
    ]
    raw = client.get("/api/text/raw", params={**where, "index": 0})
    assert (raw.text, raw.headers["content-type"]) == ("*x* <b>", "text/plain; charset=utf-8")
    assert client.get("/api/text/raw", params={**where, "index": 7}).status_code == 404


def test_the_first_addresses_may_come_in_two_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """mdurl's table was used while another thread filled it: the first texts that a page requested answered 500."""
    begun, over = threading.Event(), threading.Event()

    class Tables(dict[str, list[str]]):
        def __setitem__(self, key: str, table: list[str]) -> None:
            super().__setitem__(key, table)
            begun.set()
            over.wait(0.3)

    monkeypatch.setattr(_encode, "encode_cache", Tables())
    safe_html._made_parser.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(rendered, "<http://a.org/b c>\n\n<http://a.org>")
        assert begun.wait(60)
        second = pool.submit(rendered, "[a](http://a.org)")
        second.add_done_callback(lambda _: over.set())
        link = '<a href="http://a.org" target="_blank" rel="noopener noreferrer">'
        assert in_order(second.result()) == in_order(f"<p>{link}a</a></p>")
        assert in_order(first.result()).endswith(in_order(f"<p>{link}http://a.org</a></p>"))
