"""SQLite as the truth of a home."""

from kb.catalog.schema import FORMAT_VERSION

__all__ = ["FORMAT_VERSION"]
