"""What is refused before a zip-based file is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.parsers.archive import check_zip
from kb.errors import DocumentError

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def archive_of(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "手册.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def code_for(path: Path, **options: object) -> str:
    with pytest.raises(DocumentError) as caught:
        check_zip(path, options)
    assert str(path.parent) not in caught.value.message
    assert caught.value.hint
    return caught.value.code


def test_an_ordinary_archive_passes(tmp_path: Path) -> None:
    check_zip(archive_of(tmp_path, {"a.xml": b"<a/>", "b.xml": b"<b/>"}), {})


def test_too_many_members_are_over_the_limit(tmp_path: Path) -> None:
    path = archive_of(tmp_path, {f"{number}.xml": b"x" for number in range(5)})
    assert code_for(path, max_zip_members=4) == "over_limit"
    check_zip(path, {"max_zip_members": 5})


def test_too_many_expanded_bytes_are_over_the_limit(tmp_path: Path) -> None:
    path = archive_of(tmp_path, {"a": bytes(600), "b": bytes(600)})
    assert code_for(path, max_expanded_bytes=1_199) == "over_limit"
    check_zip(path, {"max_expanded_bytes": 1_200})


def test_a_large_member_that_expands_too_much_is_over_the_limit(tmp_path: Path) -> None:
    path = archive_of(tmp_path, {"bomb.xml": bytes(3_000_000)})
    assert code_for(path) == "over_limit"
    check_zip(path, {"max_zip_ratio": 2_000})


def test_a_small_member_may_pack_as_well_as_it_likes(tmp_path: Path) -> None:
    check_zip(archive_of(tmp_path, {"sheet.xml": bytes(900_000)}), {"max_zip_ratio": 2})


def test_what_is_no_archive_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes("只是文字".encode() * 50)
    assert code_for(path) == "damaged"


def test_a_truncated_archive_is_damaged(tmp_path: Path) -> None:
    path = archive_of(tmp_path, {"a.xml": b"text" * 1_000})
    path.write_bytes(path.read_bytes()[:-30])
    assert code_for(path) == "damaged"


def test_an_office_file_with_a_password_is_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "locked.xlsx"
    path.write_bytes(OLE + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(512))
    assert code_for(path) == "encrypted"


def test_an_old_binary_office_file_is_unsupported(tmp_path: Path) -> None:
    path = tmp_path / "old.docx"
    path.write_bytes(OLE + bytes(504) + "WordDocument".encode("utf-16-le") + bytes(512))
    assert code_for(path) == "unsupported"


def test_an_archive_with_locked_members_is_encrypted(tmp_path: Path) -> None:
    path = archive_of(tmp_path, {"a.xml": b"text"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag in the central directory
    path.write_bytes(content)
    assert code_for(path) == "encrypted"


def test_a_file_that_is_gone_is_unreadable(tmp_path: Path) -> None:
    assert code_for(tmp_path / "gone.docx") == "unreadable"
