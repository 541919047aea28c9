"""XML from untrusted files: no entities, no network, no endless trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

Element: TypeAlias = etree._Element


def parse_xml(content: bytes) -> Element:
    """Return the root of a document; lxml's own limits on depth and text length hold.

    Raises:
        lxml.etree.XMLSyntaxError: It is no well-formed XML.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(content, parser)


def local_name(element: Element) -> str:
    """Return a tag without its namespace; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children with a local name, whatever their namespace."""
    return (child for child in element if local_name(child) == name)


def child(element: Element | None, *names: str) -> Element | None:
    """Return the first descendant along a path of local names, or None."""
    for name in names:
        if element is None:
            return None
        element = next(children(element, name), None)
    return element


def descendants(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements below that have a local name, in document order."""
    return (found for found in element.iter("{*}" + name) if found is not element)


def attribute(element: Element | None, name: str, default: str = "") -> str:
    """Return the attribute with a local name, whatever its namespace."""
    if element is None:
        return default
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return default
