"""SQLite as the truth of a home."""
