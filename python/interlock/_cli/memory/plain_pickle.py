"""Reads a pickle of plain data as a stream: parts are used and dropped while the rest is read.

A pickle is a program for a small machine, which can name any function to call. This machine has the
instructions for plain data only: None, numbers, text, bytes, lists, tuples, dicts and sets. It calls nothing.

`pickle` keeps each object until the end, because a later part of the file may refer to it. Here the caller of
`PlainPickle` sees the items of each list as soon as they are complete, and may replace or forget them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import IO, Any

_CHUNK = 1 << 20
# The longest operand of a fixed length, with its instruction.
_LONGEST = 16
_INT32, _UINT32 = struct.Struct("<i").unpack_from, struct.Struct("<I").unpack_from
# Items of a list that are passed on before the list is complete. `pickle` writes at most 1,000 at a time.
_MAX_ITEMS = 4096


class ForbiddenError(Exception):
    """A pickle contains more than plain data."""


class DamagedError(Exception):
    """A pickle ends too early, or has an instruction that does not exist."""


class ForgottenError(Exception):
    """A pickle refers to an object that was forgotten."""


class PlainDict(dict[Any, Any]):
    """A dict of a pickle."""

    __slots__ = ("seen", "slot")
    slot: int
    """The number by which the rest of the file can refer to the dict; -1 if it cannot."""
    seen: Any
    """What the caller made of the dict."""


class PlainList(list[Any]):
    """A list of a pickle."""

    __slots__ = ("seen", "slot")
    slot: int
    """The number by which the rest of the file can refer to the list; -1 if it cannot."""
    seen: Any
    """What the caller made of the list."""


FORGOTTEN = object()
_MISSING = object()
OnItems = Callable[[PlainList, list[Any]], list[Any]]
"""Is called with a list and the items that the file appends to it, of which the first is a dict. Returns the
items to append."""


class PlainPickle:
    """A pickle that is being read."""

    def __init__(self, file: IO[bytes], on_items: OnItems) -> None:
        self._file = file
        self._on_items = on_items
        self.memo: list[Any] = []
        """The objects to which the rest of the file can refer: 8 bytes for each that the file numbers."""
        # Equal texts are one object, as are equal pairs of ints.
        self._texts: dict[Any, Any] = {}

    def load(self) -> Any:
        """Read the file to its end and return its object.

        Raises:
            ForbiddenError: It contains more than plain data.
            DamagedError: It is not a pickle, or is damaged. A damaged pickle may raise other errors, too.
            ForgottenError: It refers to an object that was forgotten.

        """
        # One loop without calls: a file may have several hundred million instructions.
        memo, texts, on_items = self.memo, self._texts, self._on_items
        stack: list[Any] = []
        marks: list[int] = []
        passed_on = -1
        data, position, last, offset = b"", 0, -1, 0
        number, int32, uint32 = int.from_bytes, _INT32, _UINT32
        while True:
            if position > last:
                data = data[position:] + self._file.read(_CHUNK)
                offset, position = offset + position, 0
                last = len(data) - _LONGEST if len(data) > _LONGEST else len(data)
                if not data:
                    raise DamagedError("the file ends too early")
            code = data[position]
            position += 1
            if code == 0x6A or code == 0x68:  # LONG_BINGET, BINGET
                if code == 0x6A:
                    index = uint32(data, position)[0]
                    position += 4
                else:
                    index = data[position]
                    position += 1
                item = memo[index]
                if item is FORGOTTEN or item is _MISSING:
                    raise ForgottenError if item is FORGOTTEN else DamagedError(f"it has no object {index}")
                stack.append(item)
            elif code == 0x94 or code == 0x71 or code == 0x72:  # MEMOIZE, BINPUT, LONG_BINPUT
                item = stack[-1]
                index = len(memo)
                if code == 0x71:
                    index = data[position]
                    position += 1
                elif code == 0x72:
                    index = number(data[position : position + 4], "little")
                    position += 4
                kind = type(item)
                if kind is PlainDict or kind is PlainList:
                    item.slot = index
                if index == len(memo):
                    memo.append(item)
                else:
                    self._put(index, item, offset + position)
            elif code == 0x8A:  # LONG1
                end = position + 1 + data[position]
                if end > len(data):
                    data, offset = self._more(data, position, end - position), offset + position
                    end, position, last = 1 + data[0], 0, len(data) - _LONGEST
                stack.append(number(data[position + 1 : end], "little", signed=True))
                position = end
            elif code == 0x4B:  # BININT1
                stack.append(data[position])
                position += 1
            elif code == 0x75:  # SETITEMS
                start = marks.pop()
                target = stack[start - 1]
                if type(target) is not PlainDict or not 0 < start != passed_on:
                    raise DamagedError("its items are out of order")
                # An odd number of items raises ValueError.
                pairs = iter(stack[start:])
                target.update(zip(pairs, pairs, strict=True))
                del stack[start:]
                if marks and len(stack) - marks[-1] > _MAX_ITEMS and type(stack[marks[-1] - 1]) is PlainList:
                    start = marks[-1]
                    if type(stack[start]) is PlainDict:
                        stack[start - 1].extend(on_items(stack[start - 1], stack[start:]))
                        del stack[start:]
                        passed_on = start
            elif code == 0x28:  # MARK
                marks.append(len(stack))
            elif code == 0x7D:  # EMPTY_DICT
                item = PlainDict()
                item.slot, item.seen = -1, None
                stack.append(item)
            elif code == 0x4A:  # BININT
                stack.append(int32(data, position)[0])
                position += 4
            elif code == 0x4D:  # BININT2
                stack.append(data[position] | data[position + 1] << 8)
                position += 2
            elif code == 0x5D:  # EMPTY_LIST
                item = PlainList()
                item.slot, item.seen = -1, None
                stack.append(item)
            elif code == 0x65 or code == 0x61:  # APPENDS, APPEND
                start = marks.pop() if code == 0x65 else len(stack) - 1
                target, items = stack[start - 1], stack[start:]
                if type(target) is not PlainList or start < 1:
                    raise DamagedError("its items are out of order")
                del stack[start:]
                if start == passed_on:
                    passed_on = -1
                if items and type(items[0]) is PlainDict:
                    items = on_items(target, items)
                target.extend(items)
            elif code == 0x8C or code == 0x58 or code == 0x8D:  # SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
                width = 1 if code == 0x8C else 4 if code == 0x58 else 8
                size = number(data[position : position + width], "little")
                position += width
                if position + size > len(data):
                    data, offset, position = self._more(data, position, size), offset + position, 0
                    last = len(data) - _LONGEST
                text = data[position : position + size].decode("utf-8", "surrogatepass")
                stack.append(texts.setdefault(text, text))
                position += size
            elif code == 0x86:  # TUPLE2
                pair = tuple(stack[-2:])
                if len(pair) != 2:
                    raise DamagedError("its items are out of order")
                if type(pair[0]) is int and type(pair[1]) is int:
                    pair = texts.setdefault(pair, pair)
                stack[-2:] = [pair]
            elif code == 0x2E:  # STOP
                if len(stack) != 1 or marks:
                    raise DamagedError("its items are out of order")
                return stack[0]
            elif code == 0x95 or code == 0x80:  # FRAME, PROTO
                position += 8 if code == 0x95 else 1
            elif code in _OPERANDS:
                width, lines = _OPERANDS[code]
                operands: list[bytes] = []
                if width:
                    size = number(data[position : position + width], "little")
                    if position + width + size > len(data):
                        data, offset = self._more(data, position, width + size), offset + position
                        position, last = 0, len(data) - _LONGEST
                    operands.append(data[position + width : position + width + size])
                    position += width + size
                for _ in range(lines):
                    while (end := data.find(b"\n", position)) < 0:
                        data, offset = self._more(data, position, len(data) - position + 1), offset + position
                        position, last = 0, len(data) - _LONGEST
                    operands.append(data[position:end])
                    position = end + 1
                self._rare(code, operands, stack, marks, offset + position)
            elif code == 0x47:  # BINFLOAT
                stack.append(struct.unpack_from(">d", data, position)[0])
                position += 8
            else:
                if code in _TO_A_MARK and marks and marks[-1] == passed_on:
                    raise DamagedError("its items are out of order")
                self._rare(code, [], stack, marks, offset + position)

    def forget(self, item: PlainDict | PlainList) -> None:
        """Keep an object no longer. If the rest of the file refers to it, `load` raises `ForgottenError`."""
        if item.slot >= 0:
            self.memo[item.slot] = FORGOTTEN

    def replace(self, item: PlainDict | PlainList, by: PlainDict | PlainList) -> None:
        """Let the rest of the file refer to an equal object."""
        if item.slot >= 0:
            self.memo[item.slot] = by

    def _more(self, data: bytes, position: int, size: int) -> bytes:
        """Return the data from a position on, with at least so many bytes."""
        pieces, missing = [data[position:]], size - (len(data) - position)
        while missing > 0:
            # A damaged file may announce more than memory can hold.
            piece = self._file.read(_CHUNK)
            if not piece:
                raise DamagedError("the file ends too early")
            pieces.append(piece)
            missing -= len(piece)
        # So that an instruction with a short operand can follow.
        pieces.append(self._file.read(_LONGEST))
        return b"".join(pieces)

    def _put(self, index: int, item: object, offset: int) -> None:
        if index > offset:
            # Each object has at least a byte.
            raise DamagedError(f"its objects are not numbered in order: {index}")
        self.memo.extend([_MISSING] * (index + 1 - len(self.memo)))
        self.memo[index] = item

    def _rare(
        self, code: int, operands: list[bytes], stack: list[Any], marks: list[int], offset: int
    ) -> None:
        """Run an instruction that large files do not have in number."""
        match chr(code):
            case "N":
                stack.append(None)
            case "\x88" | "\x89":
                stack.append(code == 0x88)
            case "I":
                stack.append({b"00": False, b"01": True}.get(operands[0]))
                if stack[-1] is None:
                    stack[-1] = int(operands[0])
            case "L":
                stack.append(int(operands[0].removesuffix(b"L")))
            case "\x8b":
                stack.append(int.from_bytes(operands[0], "little", signed=True))
            case "F":
                stack.append(float(operands[0]))
            case "S":
                quoted = operands[0].strip()
                if len(quoted) < 2 or quoted[0] != quoted[-1] or quoted[:1] not in (b"'", b'"'):
                    raise DamagedError("a text has no quotes")
                stack.append(quoted[1:-1].decode("unicode_escape").encode("latin-1").decode("ascii"))
            case "T" | "U":
                stack.append(operands[0].decode("ascii"))
            case "V":
                stack.append(operands[0].decode("raw-unicode-escape"))
            case "B" | "C" | "\x8e":
                stack.append(operands[0])
            case "\x96":
                stack.append(bytearray(operands[0]))
            case ")":
                stack.append(())
            case "\x85" | "\x87":
                count = 1 if code == 0x85 else 3
                stack[-count:] = [tuple(stack[-count:])]
            case "t" | "l" | "d" | "\x91":
                _collect(code, stack, marks.pop())
            case "s":
                value, key = stack.pop(), stack.pop()
                stack[-1][key] = value
            case "\x8f":
                stack.append(set())
            case "\x90":
                start = marks.pop()
                stack[start - 1].update(stack[start:])
                del stack[start:]
            case "0":
                # Python's unpickler also removes a mark.
                if marks and marks[-1] == len(stack):
                    marks.pop()
                else:
                    stack.pop()
            case "1":
                del stack[marks.pop() :]
            case "2":
                stack.append(stack[-1])
            case "g":
                index = int(operands[0])
                if index < 0 or self.memo[index] is _MISSING:
                    raise DamagedError(f"it has no object {index}")
                if self.memo[index] is FORGOTTEN:
                    raise ForgottenError
                stack.append(self.memo[index])
            case "p":
                index = int(operands[0])
                if isinstance(stack[-1], PlainDict | PlainList):
                    stack[-1].slot = index
                self._put(max(0, index), stack[-1], offset)
            case "c" | "i":
                module, name = (operand.decode("utf-8", "replace") for operand in operands)
                raise ForbiddenError(f'it refers to "{module}.{name}", but must be plain data')
            case "\x93":
                raise ForbiddenError(f'it refers to "{stack[-2]}.{stack[-1]}", but must be plain data')
            case "P" | "Q" | "\x97" | "\x98":
                raise ForbiddenError("it refers to data outside the file")
            case "R" | "b" | "o" | "\x81" | "\x92" | "\x82" | "\x83" | "\x84":
                raise ForbiddenError("it calls a function, but must be plain data")
            case other:
                raise DamagedError(f"it has the instruction {other!r}, which does not exist")


def _collect(code: int, stack: list[Any], start: int) -> None:
    """Replace the items above a mark by a tuple, list, dict or frozenset of them."""
    items: Any = stack[start:]
    del stack[start:]
    made: Any
    if code == ord("t"):
        made = tuple(items)
    elif code == ord("l"):
        made = PlainList(items)
    elif code == ord("d"):
        made = PlainDict(zip(items[::2], items[1::2], strict=True))
    else:
        made = frozenset(items)
    if isinstance(made, PlainDict | PlainList):
        made.slot, made.seen = -1, None
    stack.append(made)


# Instructions that take the items above a mark, other than those of lists and dicts.
_TO_A_MARK = frozenset(b"tld1\x90\x91")
# Instructions with an operand: the bytes of its length, or the number of lines.
_OPERANDS = {
    ord("T"): (4, 0), ord("U"): (1, 0), ord("B"): (4, 0), ord("C"): (1, 0), 0x8E: (8, 0), 0x96: (8, 0),
    0x8B: (4, 0), ord("I"): (0, 1), ord("L"): (0, 1), ord("F"): (0, 1), ord("S"): (0, 1), ord("V"): (0, 1),
    ord("g"): (0, 1), ord("p"): (0, 1), ord("c"): (0, 2), ord("i"): (0, 2), ord("P"): (0, 1),
}  # fmt: skip
