"""Parsers, one module a format."""
