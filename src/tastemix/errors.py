"""Everything tastemix raises on purpose.

    TastemixError
    ├── DataError           the ratings cannot be used
    │   ├── ColumnError       a column is missing or of an unusable type
    │   ├── RatingError       a rating is missing, infinite or outside the scale
    │   ├── DuplicateError    the same (user, item) twice
    │   └── IdError           an id is null, unknown, or of another type than the rest
    ├── ParameterError      an argument is outside its range
    ├── EngineError         this machine cannot run what was asked for
    └── ModelFileError      a saved model is damaged, unsafe or from another version

A message is one sentence or two: what is wrong and where, then the way out.
"""


class TastemixError(Exception):
    """The root of all errors raised on purpose."""


class DataError(TastemixError, ValueError):
    """The ratings cannot be used."""


class ColumnError(DataError):
    """A column is missing or of an unusable type."""


class RatingError(DataError):
    """A rating is missing, infinite or outside the scale."""


class DuplicateError(DataError):
    """The same (user, item) pair appears twice."""


class IdError(DataError):
    """An id is null, unknown, or of another type than the rest."""


class ParameterError(TastemixError, ValueError):
    """An argument is outside its range."""


class EngineError(TastemixError, RuntimeError):
    """This machine cannot run what was asked for."""


class ModelFileError(TastemixError, ValueError):
    """A saved model is damaged, unsafe or from another version."""
