"""E-mail messages."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from ingest.blocks import blocks_of
from ingest.parsers.email import EmailParser
from kb.errors import DocumentError
from kb.types import ParsedDocument


def message_of(body: str = "", subject: str = "水库检查 on Monday") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "李雷 <lilei@example.org>"
    message["To"] = "Mei Han <mei@example.org>, wang@example.org"
    message["Subject"] = subject
    message["Date"] = "Tue, 05 Mar 2024 09:07:00 +0800"
    if body:
        message.set_content(body)
    return message


def parsed(content: EmailMessage | bytes, folder: Path) -> ParsedDocument:
    path = folder / "信.eml"
    path.write_bytes(content.as_bytes() if isinstance(content, EmailMessage) else content)
    return EmailParser().parse(path, {})


def test_headers_are_metadata_and_the_subject_the_heading(tmp_path: Path) -> None:
    found = parsed(message_of("各位好：\n\n明天检查。\n"), tmp_path)
    assert found.text == "# 水库检查 on Monday\n\n各位好：\n\n明天检查。"
    assert found.metadata == {
        "from": "李雷 <lilei@example.org>",
        "to": "Mei Han <mei@example.org>, wang@example.org",
        "date": "2024-03-05T09:07:00+08:00",
        "subject": "水库检查 on Monday",
    }
    assert found.title == "水库检查 on Monday"


def test_the_plain_form_is_preferred_and_html_is_read_without_it(tmp_path: Path) -> None:
    both = message_of("纯文本")
    both.add_alternative("<p>网页</p>", subtype="html")
    assert parsed(both, tmp_path).text.endswith("\n\n纯文本")
    blank = message_of("\n")
    blank.add_alternative("<h2>网页</h2><ul><li>甲</li></ul>", subtype="html")
    assert parsed(blank, tmp_path).text == "# 水库检查 on Monday\n\n## 网页\n\n- 甲"


def test_attachments_are_listed_by_name_and_pictures_counted(tmp_path: Path) -> None:
    message = message_of("见附件。")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="报告.pdf")
    message.add_attachment(b"x", maintype="image", subtype="png", filename="dam.png")
    message.add_attachment("附件里的字", filename="notes.txt")
    found = parsed(message, tmp_path)
    assert found.text.endswith("见附件。\n\nAttachments: 报告.pdf, dam.png, notes.txt")
    assert found.n_images == 1


def test_a_forwarded_message_is_read_too(tmp_path: Path) -> None:
    outer = message_of("转发给你。")
    outer.make_mixed()
    inner = message_of("原来的信。", subject="旧信")
    outer.attach(_inline(inner))
    assert parsed(outer, tmp_path).text == (
        "# 水库检查 on Monday\n\n转发给你。\n\n## 旧信\n\nFrom: 李雷 <lilei@example.org>\n"
        "To: Mei Han <mei@example.org>, wang@example.org\nDate: 2024-03-05T09:07:00+08:00\n\n"
        "原来的信。"
    )


def _inline(message: EmailMessage) -> EmailMessage:
    wrapped = EmailMessage()
    wrapped.set_content(message)
    return wrapped


def test_marks_of_plain_text_do_not_turn_into_headings(tmp_path: Path) -> None:
    body = "你好\n-- \n李雷\n\n合计\n====\n# 注释\n<!-- x\n> 引用\n"
    found = parsed(message_of(body), tmp_path)
    titles = [b.title for b in blocks_of(found.text, markup="markdown") if b.kind == "heading"]
    assert titles == ["水库检查 on Monday"]
    assert "\n> 引用" in found.text


@pytest.mark.parametrize("charset", ["gb2312", "gb18030", "big5", "utf-8", ""])
def test_old_chinese_mail_is_decoded(tmp_path: Path, charset: str) -> None:
    text = (
        "關於水庫的說明，請看附件。"
        if charset == "big5"
        else "关于水库的说明，请看朱镕先生的附件。"
    )
    encoding = {"gb2312": "gb18030", "": "gb18030"}.get(charset, charset)
    kind = f'Content-Type: text/plain; charset="{charset}"\n' if charset else ""
    content = f"Subject: {text}\n{kind}Content-Transfer-Encoding: 8bit\n\n{text}\n"
    found = parsed(content.encode(encoding), tmp_path)
    assert found.text == f"# {text}\n\n{text}"


def test_an_encoded_subject_in_a_narrow_charset_is_read_in_its_superset(tmp_path: Path) -> None:
    import base64

    encoded = base64.b64encode("朱镕的信".encode("gb18030")).decode()
    found = parsed(f"Subject: =?GB2312?B?{encoded}?=\n\nok\n".encode(), tmp_path)
    assert found.title == "朱镕的信"


def test_a_message_in_iso_2022_jp_is_decoded(tmp_path: Path) -> None:
    content = b"Subject: x\nContent-Type: text/plain; charset=iso-2022-jp\n\n"
    found = parsed(content + "こんにちは".encode("iso-2022-jp"), tmp_path)
    assert found.text == "# x\n\nこんにちは"


def test_a_message_saved_as_utf_16_is_read(tmp_path: Path) -> None:
    content = "Subject: 你好\nContent-Type: text/plain; charset=utf-8\n\n正文\n".encode("utf-16")
    assert parsed(content, tmp_path).text == "# 你好\n\n正文"


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ('multipart/encrypted; boundary=b; protocol="application/pgp-encrypted"', "encrypted"),
        ("application/pkcs7-mime; smime-type=enveloped-data", "encrypted"),
        ("application/x-pkcs7-mime", "encrypted"),
        ("application/pkcs7-mime; smime-type=signed-data", "unsupported"),
    ],
)
def test_locked_messages_are_refused(tmp_path: Path, head: str, code: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(f"Subject: x\nContent-Type: {head}\n\n--b\n\nAAAA\n--b--\n".encode(), tmp_path)
    assert (caught.value.code, bool(caught.value.hint)) == (code, True)


def test_a_pgp_text_is_encrypted(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        parsed(message_of("-----BEGIN PGP MESSAGE-----\n\nhQEMA\n"), tmp_path)
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no headers at all",
        b'From: <<>>, @\nTo: "\nDate: never\nSubject:\n\nbody',
        b"Content-Type: text/plain; charset=nonsense\n\n\xff\xfe\xfd",
        b"Content-Type: multipart/mixed\n\nno boundary",
        b"Content-Type: multipart/alternative; boundary=b\n\n--b--\n",
    ],
)
def test_a_broken_message_gives_what_it_has(tmp_path: Path, content: bytes) -> None:
    assert parsed(content, tmp_path).markup == "markdown"
