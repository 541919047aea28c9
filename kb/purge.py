"""Removal of what is visible no more from every file of a home."""

from __future__ import annotations

from kb.catalog.database import Database
from kb.engines import EngineTable
from kb.errors import StoreError
from kb.faults import reach
from kb.garbage import Garbage
from kb.views import Views


def purge(database: Database, engines: EngineTable, *, garbage: Garbage, views: Views) -> None:
    """Leave no word of removed documents in catalog, log or indexes; nothing publishes meanwhile.

    Searches go on but for two moments: the exchange of an index that was built beside, and the
    emptying of the log.

    Raises:
        StoreError: A reader that does not end keeps the log from being emptied.
        DiskFullError: There is no room for the copy of the catalog that this takes.
    """
    views.wait_for_present()
    garbage.collect(oldest_held=None, max_chunks=None)
    garbage.forget_unused_embeddings()
    for generation_id in garbage.worn_generations():
        engines.build_beside(generation_id)
        with views.quiet():
            engines.swap(generation_id)
        garbage.note_fresh(generation_id)
    # `secure_delete` blanks what is deleted, but not every copy that the balancing of a tree
    # leaves behind: only a fresh file is sure to hold none.
    database.vacuum()
    reach("purge.vacuumed")
    with views.quiet():
        is_empty = database.truncate_log()
    if not is_empty:
        raise StoreError(
            "the log could not be emptied: something is still reading",
            hint="Run the same command again in a moment.",
        )
    garbage.note_purged()
