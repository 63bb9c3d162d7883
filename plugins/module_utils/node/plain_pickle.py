# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a pickle of plain data: containers, texts and numbers, and nothing that calls, imports or builds anything.

A pickle is a program, and one of an image that somebody else made is not run here. Only the instructions are known
that PyTorch writes plain data with (torch/csrc/jit/serialization/pickler.cpp), and the few more of protocol 2.
"""

from __future__ import annotations

import pickle
import struct
import typing as t

# The unpickler in C allocates memory for any number that a pickle names, and has no table of instructions.
_UNPICKLER: t.Any = pickle._Unpickler
# The keys of dictionaries are texts and numbers: the hash of nested tuples may take for ever.
_KEYS = (str, int, float, bool, type(None))
_ALLOWED = (
    *(pickle.PROTO, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT, pickle.BINUNICODE),
    *(pickle.EMPTY_DICT, pickle.SETITEM, pickle.SETITEMS, pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3),
    *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET),
)

# Unpickling raises these for bytes that it does not expect.
_OF_OTHER_BYTES = (
    *(pickle.UnpicklingError, struct.error, EOFError),
    *(LookupError, TypeError, ValueError, AttributeError, OverflowError),
)


class NotPlainError(ValueError):
    """A pickle is cut off, or contains more than plain data."""


def read_plain(stream: t.BinaryIO) -> t.Any:
    """Return the plain data of a pickle; `NotPlainError` for anything else."""
    try:
        return _Plain(stream).load()
    except NotPlainError:
        raise
    except _OF_OTHER_BYTES as error:
        raise NotPlainError(f"no pickle of plain data: {error}") from error


class _Plain(_UNPICKLER):
    dispatch: t.ClassVar = {code[0]: _UNPICKLER.dispatch[code[0]] for code in _ALLOWED}

    def _set_items(self) -> None:
        _check_keys(self.stack[::2])
        _UNPICKLER.load_setitems(self)

    def _set_item(self) -> None:
        _check_keys(self.stack[-2:-1])
        _UNPICKLER.load_setitem(self)

    dispatch[pickle.SETITEMS[0]] = _set_items
    dispatch[pickle.SETITEM[0]] = _set_item


def _check_keys(keys: t.Sequence[t.Any]) -> None:
    if not all(isinstance(key, _KEYS) for key in keys):
        raise NotPlainError("a dictionary has a key that is neither text nor number")
