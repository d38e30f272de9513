"""Text from a log directory as HTML that is safe to insert into the page."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from math import prod
from typing import Any, Final

import nh3
import numpy as np
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_inline import StateInline, html_inline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from numpy.typing import NDArray

from stepscope.dashboard.server.numbers import count, file_size

MOST_CHARACTERS: Final = 1_000_000
"""Maximum length of one text; the rest is not shown, and a notice reports it."""
MOST_MARKDOWN: Final = 100_000
"""Maximum length of a text that is read as Markdown; a longer one would block the server and is shown unchanged."""
MOST_CELLS: Final = 2_000

_TAGS: Final = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_WRITTEN_TAGS: Final = "|".join(sorted(_TAGS - {"del", "img", "s"}))
_WRITTEN_TAG: Final = re.compile(
    rf"</?(?:(?:{_WRITTEN_TAGS})(?=[\s/>])|img(?=\s[^<>]*\bsrc=[\"']?data:image/))[^<>]*>", re.ASCII | re.IGNORECASE
)
"""HTML tags that are interpreted in Markdown, as in TensorBoard; others, such as a model's ``<s>``, are text."""
_ATTRIBUTES: Final = {"a": {"href", "title", "target"}, "img": {"src", "alt", "title"}, "ol": {"start"}}
_EMBEDDED_PICTURE: Final = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.ASCII)
_SENTENCE: Final = r"""[A-Za-z][A-Za-z0-9 ,.;:?%/()='"+$^{}@|#-]*+(?<! )"""
_SENTENCES: Final = re.compile(rf"{_SENTENCE}(?:\n{_SENTENCE})*+")
"""Lines without any Markdown or HTML syntax: they form a paragraph unchanged."""
_MOST_KEPT: Final = 4_096
"""Maximum length of a text whose HTML is kept for a while."""
_LINK: Final = re.compile(r"(https?://|mailto:)", re.ASCII | re.IGNORECASE)
_making: Final = threading.Lock()


@dataclass(frozen=True)
class Rendered:
    """A text for the page."""

    html: str
    """Sanitized HTML: no script, style, event handler, frame or form, and nothing that loads itself from elsewhere."""
    notice: str
    """Notice of what was left out; empty if nothing was."""


def sanitize(html: str) -> str:
    """Keep only what `_TAGS` and `_ATTRIBUTES` name; links open in a new tab, and only embedded images remain."""
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_kept_attribute,
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        url_schemes={"http", "https", "mailto", "data"},
    )


def _kept_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if _EMBEDDED_PICTURE.fullmatch(value) else None
    if name == "href":
        return value if _LINK.match(value) else None
    return value


def markdown_html(source: str) -> str:
    """Return one text as Markdown (CommonMark with tables and strikethrough).

    HTML tags that TensorBoard knows are interpreted, and all others are shown as written. An image that is stored
    elsewhere becomes a link to it, or is shown as written, because the page loads nothing from other hosts.
    """
    # Nearly all descriptions are empty, and parsing those of a hundred thousand tags takes seconds.
    if not source:
        return ""
    # Many entries of a log are one sentence, as are many descriptions.
    if _SENTENCES.fullmatch(source):
        return f"<p>{source}</p>"
    return _kept(source) if len(source) <= _MOST_KEPT else rendered(source)


def rendered(source: str) -> str:
    """Return Markdown as `markdown_html` does, but always by the parser and the sanitizer."""
    return sanitize(_parser().render(source.replace("\x00", ""))).strip()


_kept: Final = lru_cache(maxsize=1_024)(rendered)


def plain_html(source: str) -> str:
    """Return one text as HTML without interpreting it."""
    return f"<pre>{escape(source)}</pre>"


def text_html(strings: NDArray[np.object_], *, markdown: bool) -> Rendered:
    """Return one text, or a table of texts: one row per element of a vector, rows and columns for a matrix.

    Args:
        strings: `str` objects of any shape; with more than two axes, the first matrix is shown.
        markdown: whether to read the strings as Markdown.
    """
    notices: list[str] = []
    if strings.ndim == 0:
        html = _limited(str(strings.item()), MOST_CHARACTERS, markdown, notices)
        return Rendered(html, _joined(notices))
    if strings.ndim > 2:
        notices.append(f"The first matrix of {strings.ndim} axes of shape {list(strings.shape)}.")
        *outer, _, columns = strings.shape
        strings = strings[(0,) * len(outer)] if all(outer) else strings.reshape(0, columns)
    matrix = strings.reshape(-1, 1) if strings.ndim == 1 else strings
    most_rows = max(1, MOST_CELLS // max(1, matrix.shape[1]))
    if len(matrix) > most_rows:
        notices.append(f"The first {count(most_rows)} of {count(len(matrix))} rows.")
    shown = matrix[:most_rows, :MOST_CELLS]
    if shown.shape[1] < matrix.shape[1]:
        notices.append(f"The first {count(MOST_CELLS)} of {count(matrix.shape[1])} columns.")
    return Rendered(_table(shown, markdown, notices), _joined(notices))


def _table(rows: NDArray[np.object_], markdown: bool, notices: list[str]) -> str:
    left = MOST_CHARACTERS
    lines: list[str] = []
    for row in rows.tolist():
        lines.append("<tr>\n")
        for cell in row:
            html = _limited(cell, left, markdown and left > MOST_CHARACTERS - MOST_MARKDOWN, notices)
            left = max(0, left - len(cell))
            lines.append(f"<td>{html}</td>\n")
        lines.append("</tr>\n")
    return f"<table>\n<tbody>\n{''.join(lines)}</tbody>\n</table>"


def _limited(source: str, most: int, markdown: bool, notices: list[str]) -> str:
    if len(source) > most:
        notices.append(f"Truncated: {file_size(most)} of {file_size(len(source))} are shown.")
        source = source[:most]
    if markdown and len(source) > MOST_MARKDOWN:
        notices.append(f"Shown as plain text: longer than {file_size(MOST_MARKDOWN)}, the limit for Markdown.")
        markdown = False
    return markdown_html(source) if markdown else plain_html(source)


def _joined(notices: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(notices))


def _parser() -> MarkdownIt:
    with _making:
        return _made_parser()


@cache
def _made_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.block.ruler.at("html_block", _written_block, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.inline.ruler.at("html_inline", _written_inline)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("html_block", _written_html)
    # The first address makes mdurl fill its tables; another thread would find them half full, and fail.
    parser.render("<http://localhost/%20>")
    return parser


def _written_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Parse a block of HTML if it begins with an interpreted tag; otherwise it is Markdown like any other."""
    line = state.src[state.bMarks[first] + state.tShift[first] : state.eMarks[first]]
    # A tag may continue on the next line.
    return bool(_WRITTEN_TAG.match(f"{line}>")) and html_block(state, first, last, silent)


def _written_inline(state: StateInline, silent: bool) -> bool:
    return bool(_WRITTEN_TAG.match(state.src, state.pos)) and html_inline(state, silent)


def _written_html(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    """Return a block of HTML in which everything but interpreted tags is text."""
    content = tokens[index].content
    tags = list(_WRITTEN_TAG.finditer(content))
    begins = [0, *(tag.end() for tag in tags)]
    ends = [*(tag.start() for tag in tags), len(content)]
    between = [content[begin:end].replace("<", "&lt;") for begin, end in zip(begins, ends, strict=True)]
    return "".join(text + tag for text, tag in zip(between, [*(tag[0] for tag in tags), ""], strict=True))


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    label = renderer.renderInlineAsText(token.children, options, env)
    if _EMBEDDED_PICTURE.fullmatch(source):
        return f'<img src="{escape(source)}" alt="{escape(label)}">'
    return f'<a href="{escape(source)}">image: {escape(label or source)}</a>'


def raw_text(strings: NDArray[np.object_]) -> str:
    """Return the content for the copy button: the text, or the table with tabs between columns."""
    if strings.ndim < 2:
        return "\n".join(str(element) for element in strings.reshape(-1).tolist())
    *outer, columns = strings.shape
    rows: list[Any] = strings.reshape(prod(outer), columns).tolist()
    return "\n".join("\t".join(str(element) for element in row) for row in rows)
