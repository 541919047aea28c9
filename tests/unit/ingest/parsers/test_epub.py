"""EPUB books."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.parsers.epub import EpubParser
from kb.errors import DocumentError
from kb.types import ParsedDocument

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
OPF = """<package xmlns="http://www.idpf.org/2007/opf"
  xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>山谷的故事</dc:title><dc:creator>李雷</dc:creator><dc:creator>Mei Han</dc:creator>
<dc:date>2020-05-01</dc:date><dc:language>zh</dc:language></metadata>
<manifest>
<item id="b" href="text/two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/%E4%B8%80.xhtml" media-type="application/xhtml+xml"/>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="cover" href="cover.png" media-type="image/png"/>
</manifest>
<spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="gone"/><itemref idref="b"/></spine>
</package>"""


def page(body: str, encoding: str = "utf-8") -> bytes:
    return (
        f'<?xml version="1.0" encoding="{encoding}"?><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title>t</title></head><body>{body}</body></html>"
    ).encode(encoding)


def parsed(folder: Path, **extra: bytes) -> ParsedDocument:
    path = folder / "书.epub"
    members = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": CONTAINER.encode(),
        "OEBPS/book.opf": OPF.encode(),
        "OEBPS/nav.xhtml": page("<p>目录</p>"),
        "OEBPS/text/一.xhtml": page("<h1>第一章</h1><p>山谷很深。</p><img src='../cover.png'/>"),
        "OEBPS/text/two.xhtml": page("<h1>第二章</h1><p>中文 GB</p>", "gb18030"),
    }
    members |= {name.replace("__", "/"): content for name, content in extra.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return EpubParser().parse(path, {})


def test_chapters_come_in_the_order_of_the_spine(tmp_path: Path) -> None:
    found = parsed(tmp_path)
    headings = [line for line in found.text.splitlines() if line.startswith("#")]
    assert headings == ["# 第一章", "# 第二章"]
    assert found.text.index("山谷很深。") < found.text.index("中文 GB")
    assert "目录" not in found.text


def test_the_package_gives_title_and_metadata(tmp_path: Path) -> None:
    found = parsed(tmp_path)
    assert found.title == "山谷的故事"
    assert found.metadata == {
        "title": "山谷的故事",
        "author": "李雷, Mei Han",
        "created": "2020-05-01",
        "language": "zh",
    }
    assert (found.markup, found.pages, found.n_pages, found.n_images) == ("markdown", (), None, 1)


def test_encrypted_chapters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, **{"META-INF__encryption.xml": encryption("OEBPS/text/two.xhtml")})
    assert caught.value.code == "encrypted"


def test_encrypted_fonts_hurt_nobody(tmp_path: Path) -> None:
    found = parsed(tmp_path, **{"META-INF__encryption.xml": encryption("OEBPS/font.otf")})
    assert "山谷很深。" in found.text


def test_a_book_without_its_package_is_damaged(tmp_path: Path) -> None:
    container = CONTAINER.replace("book.opf", "other.opf").encode()
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, **{"META-INF__container.xml": container})
    assert caught.value.code == "damaged"


def test_a_broken_package_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(tmp_path, **{"OEBPS__book.opf": OPF[:200].encode()})
    assert caught.value.code == "damaged"


def encryption(member: str) -> bytes:
    return (
        f'<encryption xmlns="urn:x"><EncryptedData><CipherData><CipherReference URI="{member}"/>'
        "</CipherData></EncryptedData></encryption>"
    ).encode()
