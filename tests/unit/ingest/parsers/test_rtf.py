"""Rich Text Format."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.parsers.rtf import RtfParser
from kb.errors import DocumentError
from kb.types import ParsedDocument

FONTS = (
    rb"{\fonttbl{\f0\fnil\fcharset134 SimSun;}{\f1\fswiss\fcharset0 Arial;}"
    rb"{\f2\fnil\fcharset204 Cyr;}{\f3\fnil\cpg950 Ming;}}"
)


def parsed(
    folder: Path, content: bytes, head: bytes = rb"\ansi\ansicpg1252\deff1"
) -> ParsedDocument:
    path = folder / "信.rtf"
    path.write_bytes(rb"{\rtf1" + head + FONTS + b"\n" + content + b"}")
    return RtfParser().parse(path, {})


def text_of(folder: Path, content: bytes, head: bytes = rb"\ansi\ansicpg1252\deff1") -> str:
    return parsed(folder, content, head).text


def hexed(text: str, encoding: str) -> bytes:
    return b"".join(b"\\'%02x" % byte for byte in text.encode(encoding))


def test_paragraphs_groups_and_escapes(tmp_path: Path) -> None:
    content = rb"{\b Bold} and {\i plain}\par next \{x\} \\ a\~b\_c\line d\tab e\emdash f"
    assert text_of(tmp_path, content) == "Bold and plain\n\nnext {x} \\ a\u00a0b-c\nd\te—f"


def test_line_ends_of_the_file_are_not_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, b"one\r\n two\\\nthree") == "one two\n\nthree"


def test_bytes_are_decoded_by_the_code_page_of_their_font(tmp_path: Path) -> None:
    content = (
        rb"\f0 "
        + hexed("水库", "gb18030")
        + rb"{\f1 caf\'e9 }"
        + rb"{\f2 "
        + hexed("вода", "cp1251")
        + rb"}{\f3 "
        + hexed("說明", "cp950")
        + b"}"
        + hexed("完", "gb18030")
    )
    assert text_of(tmp_path, content) == "水库café вода說明完"


def test_the_second_byte_of_a_character_may_be_a_plain_letter(tmp_path: Path) -> None:
    assert "丄".encode("gb18030") == b"\x81A"
    assert text_of(tmp_path, b"\\f0 \\'81A!\\'81\\'41") == "丄!丄"


def test_a_chinese_system_writes_chinese_in_western_fonts(tmp_path: Path) -> None:
    content = rb"\f1 " + hexed("水库", "gb18030")
    assert text_of(tmp_path, content, rb"\ansi\ansicpg936\deff1") == "水库"


def test_unicode_escapes_skip_as_many_characters_as_stated(tmp_path: Path) -> None:
    content = (
        rb"\u27700?\u24211\'bf{\uc2\u26032\'d0\'c2}{\uc0\u25991 x}\u8217\rquote \u-10179?\u-8704?"
    )
    assert text_of(tmp_path, content) == "水库新文x’😀"


def test_unicode_escapes_without_a_fallback_lose_nothing(tmp_path: Path) -> None:
    assert text_of(tmp_path, rb"\u27700\u24211\par \u26032{x}") == "水库\n\n新x"


def test_ignorable_and_technical_destinations_are_left_out(tmp_path: Path) -> None:
    content = (
        rb"{\colortbl;\red0;}{\stylesheet{\s1 heading 1;}}{\*\generator Riched20;}{\*\new{\b x}y}"
        rb"{\field{\*\fldinst HYPERLINK http://example.org}{\fldrslt link}}{\v hidden}"
        rb"{\xe{index}} ok"
    )
    assert text_of(tmp_path, content) == "link ok"


def test_shapes_and_the_unicode_form_of_a_pair_are_read(tmp_path: Path) -> None:
    content = (
        rb"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt box\par}}{\shprslt old}}"
        rb"{\upr{ANSI}{\*\ud{\u27700?}}}"
    )
    assert text_of(tmp_path, content) == "box\n\n水"


def test_headings_lists_and_tables_are_markdown(tmp_path: Path) -> None:
    content = (
        rb"{\pard\outlinelevel1 Title\par}"
        rb"\pard{\listtext\f1\'b7\tab}one\par{\listtext\f1\'b7\tab}\ilvl1 two\par"
        rb"\pard{\pntext 3.\tab}three\par"
        rb"\trowd\cellx100\cellx200\pard\intbl A\cell B|\par C\cell\row"
        rb"\pard\intbl 1\cell 2\cell\row\pard after\par"
    )
    assert text_of(tmp_path, content) == (
        "## Title\n\n- one\n  - two\n3. three\n\n| A | B\\| C |\n| --- | --- |\n| 1 | 2 |\n\nafter"
    )


def test_notes_stand_at_the_end_and_margins_are_metadata(tmp_path: Path) -> None:
    content = (
        rb"{\info{\title Report}{\author Mei Han}{\creatim\yr2024\mo3\dy5\hr9\min7}{\keywords k}}"
        rb"{\header\pard top\par}{\footer\trowd\pard\intbl page\cell\row}"
        rb"\pard text{\footnote\pard\plain  the note} goes on\par"
    )
    found = parsed(tmp_path, content)
    assert found.text == "text[^1] goes on\n\n[^1]: the note"
    assert found.metadata == {
        "title": "Report",
        "author": "Mei Han",
        "header": "top",
        "footer": "page",
        "created": "2024-03-05T09:07:00",
    }
    assert found.title == "Report"


def test_pictures_are_counted_and_their_bytes_passed_over(tmp_path: Path) -> None:
    content = rb"a{\*\shppict{\pict\pngblip 89504e47}}{\nonshppict{\pict 00}}{\pict\bin4 }}{{}b"
    found = parsed(tmp_path, content)
    assert (found.text, found.n_images, found.warnings) == ("ab", 2, ())


def test_a_file_without_its_end_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "半.rtf"
    path.write_bytes(rb"{\rtf1\ansi{\b half \'e")
    found = RtfParser().parse(path, {})
    assert found.text.startswith("half")
    assert [warning.code for warning in found.warnings] == ["truncated"]


def test_what_does_not_begin_like_rtf_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "坏.rtf"
    path.write_bytes(b"plain text")
    with pytest.raises(DocumentError) as caught:
        RtfParser().parse(path, {})
    assert caught.value.code == "damaged"
