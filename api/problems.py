"""The one table from our errors to exit codes, HTTP statuses and MCP errors."""

from __future__ import annotations

from dataclasses import dataclass

from kb import errors


@dataclass(frozen=True, slots=True)
class Problem:
    """How one class of error looks from outside.

    Attributes:
        exit_code: Of the command line.
        http_status: Of a REST answer.
        title: Short and the same for every instance, as RFC 9457 asks.
    """

    exit_code: int
    http_status: int
    title: str


_TABLE: tuple[tuple[type[errors.KnowledgeBaseError], Problem], ...] = (
    (errors.CancelledByUserError, Problem(130, 409, "Stopped on request")),
    (errors.NotFoundError, Problem(4, 404, "Not found")),
    (errors.ConflictError, Problem(2, 409, "Conflict")),
    (errors.ForbiddenError, Problem(2, 403, "Forbidden")),
    (errors.TooLargeError, Problem(2, 413, "Too large")),
    (errors.HomeLockedError, Problem(3, 503, "Home in use")),
    (errors.NewerFormatError, Problem(3, 503, "Home of a newer version")),
    (errors.DiskFullError, Problem(3, 507, "No room on the disk")),
    (errors.DamagedError, Problem(3, 500, "Stored data are damaged")),
    (errors.StoreError, Problem(3, 503, "Store not usable")),
    (errors.DocumentError, Problem(1, 422, "Document cannot be read")),
    (errors.ModelError, Problem(2, 503, "Model not usable")),
    (errors.UsageError, Problem(2, 422, "Wrong usage")),
    (errors.KnowledgeBaseError, Problem(1, 500, "Error")),
)

UNEXPECTED = Problem(1, 500, "Unexpected error")


def problem_of(error: BaseException) -> Problem:
    """Return the outside look of an error; unknown ones are unexpected."""
    for error_type, problem in _TABLE:
        if isinstance(error, error_type):
            return problem
    return UNEXPECTED


def to_wire(error: BaseException) -> dict[str, str]:
    """Return an error as JSON for another process of ours."""
    if isinstance(error, errors.KnowledgeBaseError):
        return {
            "type": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "code": error.code,
        }
    return {
        "type": "KnowledgeBaseError",
        "message": f"unexpected {type(error).__name__}: {error}",
        "hint": "Run the server with --log-level debug to see where it arose.",
        "code": "unexpected",
    }


def from_wire(wire: dict[str, str]) -> errors.KnowledgeBaseError:
    """Return the error that `to_wire` described."""
    error_type = getattr(errors, wire["type"], errors.KnowledgeBaseError)
    error: errors.KnowledgeBaseError = errors.KnowledgeBaseError.__new__(error_type)
    errors.KnowledgeBaseError.__init__(error, wire["message"], hint=wire["hint"], code=wire["code"])
    return error
