"""One tree of errors; each says what happened and what to do now.

    KnowledgeBaseError
    ├── UsageError            wrong call: argument, path, setting, query option
    │   ├── SettingsError     kb.toml, KB_* or a flag holds a wrong value
    │   ├── ModelError        a model cannot be found, loaded or reached
    │   └── MissingExtraError a feature needs an optional extra
    ├── StoreError            the home cannot be used
    │   ├── HomeLockedError   another process owns it and does not answer
    │   ├── NewerFormatError  written by a newer kb
    │   ├── DamagedError      a checksum or an invariant does not hold
    │   └── DiskFullError     a write found no room
    ├── NotFoundError         a named collection, document, chunk or root does not exist
    ├── ConflictError         the name is taken or the state forbids it
    ├── ForbiddenError        the caller may not do this
    ├── TooLargeError         a request is over a limit
    ├── DocumentError         one document cannot be read; the others go on
    └── CancelledByUserError  a job or command was stopped on request

`api/problems.py` maps the tree to exit codes, HTTP statuses and MCP errors.
"""

from __future__ import annotations


class KnowledgeBaseError(Exception):
    """Base of all errors that are meant for the user.

    Args:
        message: What happened, with the value it happened to.
        hint: What to do now, one sentence; empty only where nothing helps.
        code: A stable snake_case word; each class has a default.
    """

    default_code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code


class UsageError(KnowledgeBaseError):
    """The call itself is wrong; nothing was changed."""

    default_code = "usage"


class SettingsError(UsageError):
    """A setting has an unknown name or a value out of its range."""

    default_code = "settings"


class ModelError(UsageError):
    """A model cannot be found on this machine, loaded, or reached."""

    default_code = "model"


class MissingExtraError(UsageError):
    """A feature needs a package that an optional extra brings."""

    default_code = "missing_extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra [{extra}]",
            hint=f"pip install 'kb-cited[{extra}]'",
        )


class StoreError(KnowledgeBaseError):
    """The home cannot be used as it is."""

    default_code = "store"


class HomeLockedError(StoreError):
    """Another process owns the home and cannot be spoken to."""

    default_code = "locked"


class NewerFormatError(StoreError):
    """The home was written by a newer version of kb."""

    default_code = "newer_format"


class DamagedError(StoreError):
    """Stored bytes do not match their checksum, or an invariant is broken."""

    default_code = "damaged"


class DiskFullError(StoreError):
    """A write found no room; what was acknowledged before it is kept."""

    default_code = "disk_full"


class NotFoundError(KnowledgeBaseError):
    """A named collection, document, chunk, root or job does not exist."""

    default_code = "not_found"


class ConflictError(KnowledgeBaseError):
    """The name is taken, or the present state forbids the change."""

    default_code = "conflict"


class ForbiddenError(KnowledgeBaseError):
    """The caller lacks the right to do this."""

    default_code = "forbidden"


class TooLargeError(KnowledgeBaseError):
    """A request or a document is over a limit, which the message names."""

    default_code = "too_large"


class DocumentError(KnowledgeBaseError):
    """One document cannot be read; its last good version stays.

    Codes in use: `encrypted`, `damaged`, `over_limit`, `unreadable`, `vanished`,
    `timeout`, `memory`, `unsupported`, `changed_while_read`.
    """

    default_code = "document"


class CancelledByUserError(KnowledgeBaseError):
    """A job or command was stopped on request; acknowledged work is kept."""

    default_code = "cancelled"
