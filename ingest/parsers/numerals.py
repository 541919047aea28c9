"""Numbers as lists and headings show them."""

from __future__ import annotations

_DIGITS = "零一二三四五六七八九"
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_CHINESE = frozenset(
    {
        "chineseCounting",
        "chineseCountingThousand",
        "chineseLegalSimplified",
        "ideographDigital",
        "ideographTraditional",
        "japaneseCounting",
        "japaneseDigitalTenThousand",
        "taiwaneseCounting",
        "taiwaneseCountingThousand",
        "一, 二, 三, ...",
    }
)
_LOWER_ROMAN = frozenset({"lowerRoman", "i"})
_UPPER_ROMAN = frozenset({"upperRoman", "I"})
_LOWER_LETTER = frozenset({"lowerLetter", "a"})
_UPPER_LETTER = frozenset({"upperLetter", "A"})
_CIRCLED = frozenset({"decimalEnclosedCircle", "decimalEnclosedCircleChinese", "①, ②, ③, ..."})


def numeral(number: int, style: str) -> str:
    """Return a number in the style that WordprocessingML or OpenDocument names; else decimal.

    `numeral(12, "chineseCounting")` is `十二`, `numeral(4, "lowerRoman")` is `iv`.
    """
    if number < 1 or number > 9_999:
        return str(number)
    if style in _CHINESE:
        return chinese_numeral(number)
    if style in _LOWER_ROMAN | _UPPER_ROMAN:
        roman = _roman(number)
        return roman.upper() if style in _UPPER_ROMAN else roman
    if style in _LOWER_LETTER | _UPPER_LETTER:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if style in _UPPER_LETTER else letters
    if style in _CIRCLED and number <= 20:
        return chr(ord("①") + number - 1)
    return f"{number:02d}" if style == "decimalZero" else str(number)


def chinese_numeral(number: int) -> str:
    """Return 1..9999 in Chinese: 10 is `十`, 105 is `一百零五`."""
    written = ""
    for power, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // power % 10
        if digit:
            written += _DIGITS[digit] + unit
        elif written and number % power and not written.endswith("零"):
            written += "零"
    return written.removeprefix("一") if written.startswith("一十") else written


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        n_times, number = divmod(number, value)
        written += letters * n_times
    return written
