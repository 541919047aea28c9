"""Adapters of the lexical and vector engines."""
