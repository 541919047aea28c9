"""Folders in, chunks out."""
