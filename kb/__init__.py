"""The knowledge base itself: words, ports, catalog, indexes and models."""

__version__ = "0.1.0"
