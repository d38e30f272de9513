"""The compiled loops of the scan: framing, CRCs and the protobuf wire format.

They are in one module because Numba's cache detects changes in one file at a time; `stepscope.summary.plain_scan` is
the same in plain Python. Nothing here is annotated: `stepscope.summary.scan.Scanner` passes machine numbers and arrays
of fixed dtypes, which Numba infers. Functions are not inlined by Numba (``inline="always"``), which takes twice as long
to compile and runs no faster, because LLVM inlines them anyway.
"""

from typing import Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES
from stepscope.summary.scan_layout import (
    ARENA,
    BLOB,
    DAMAGES,
    LARGEST_RECORD,
    LAYOUT_NUMBERS,
    MOST_DIMENSIONS,
    NEEDED,
    NUMBER,
    POSITION,
    PREVIOUS_TAG,
    RECORDS,
    ROWS,
    TAGS,
    TEMPLATE_WORDS,
)

# Where the variable parts of a record lie, relative to its data; the number's width is 0 if the record does not have
# the shape "one summary value that is a number".
_LENGTH, _WALL_TIME_AT, _STEP_AT, _STEP_END, _NUMBER_AT, _NUMBER_WIDTH, _HEADER_CRC = range(7)
_EVENT_SUMMARY: Final = 5


def _crc_tables() -> NDArray[np.uint32]:
    """Return tables for slicing-by-8 of CRC-32C, reflected polynomial 0x82F63B78; uint32 [8, 256]."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1).astype(np.uint32)
    tables = [table]
    for _ in range(7):
        tables.append(((tables[-1] >> 8) ^ table[tables[-1] & 0xFF]).astype(np.uint32))
    return np.stack(tables)


_TABLES = _crc_tables()


def _load(convert):
    """Return an intrinsic that reads a little-endian number at any byte of a uint8 array, without alignment."""

    @intrinsic
    def load(typing_context, buffer, at):
        result = {"u64": types.uint64, "u32": types.uint32, "f64": types.float64, "f32": types.float32}[convert]

        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            pointer = builder.gep(array.data, [arguments[1]])
            target = {
                "u64": ir.IntType(64),
                "u32": ir.IntType(32),
                "f64": ir.DoubleType(),
                "f32": ir.FloatType(),
            }[convert]
            return builder.load(builder.bitcast(pointer, target.as_pointer()), align=1)

        return result(buffer, types.intp), generate

    return load


_u64 = _load("u64")
_u32 = _load("u32")
_f64 = _load("f64")
_f32 = _load("f32")


def _has_crc_instruction(context):
    """Return whether the target processor has an instruction to continue a CRC-32C, as x86 processors do."""
    triple, _, features = context.codegen().magic_tuple()
    return triple.startswith("x86_64") and "+crc32" in features.split(",")


@intrinsic
def _is_instruction(typing_context):
    """Return whether `_crc_with` is an instruction, as a constant, so that the other branch is not compiled."""

    def generate(context, builder, signature, arguments):
        return ir.Constant(ir.IntType(1), int(_has_crc_instruction(context)))

    return types.boolean(), generate


@intrinsic
def _crc_with(typing_context, crc, number):
    """Return a CRC-32C continued with an unsigned number, if that is an instruction."""
    wide = number.bitwidth == 64
    name = f"llvm.x86.sse42.crc32.{'64' if wide else '32'}.{number.bitwidth}"
    result = types.uint64 if wide else types.uint32

    def generate(context, builder, signature, arguments):
        if not _has_crc_instruction(context):
            return arguments[0]
        of = ir.IntType(result.bitwidth)
        function = ir.FunctionType(of, [of, ir.IntType(number.bitwidth)])
        return builder.call(cgutils.get_or_insert_function(builder.module, function, name), arguments)

    return result(result, number), generate


@kernel()
def _masked_crc(buffer, begin, end):
    crc = np.uint32(0xFFFFFFFF)
    i = np.uint64(begin)
    stop = np.uint64(end)
    eight = np.uint64(8)
    one = np.uint64(1)
    byte = np.uint32(0xFF)
    if _is_instruction():
        wide = np.uint64(crc)
        while i + eight <= stop:
            wide = _crc_with(wide, _u64(buffer, i))
            i += eight
        crc = np.uint32(wide)
        if i + np.uint64(4) <= stop:
            crc = _crc_with(crc, _u32(buffer, i))
            i += np.uint64(4)
        while i < stop:
            crc = _crc_with(crc, buffer[i])
            i += one
    while i + eight <= stop:
        word = _u64(buffer, i)
        low = np.uint32(word & np.uint64(0xFFFFFFFF)) ^ crc
        high = np.uint32(word >> np.uint64(32))
        crc = (
            _TABLES[7, low & byte]
            ^ _TABLES[6, (low >> np.uint32(8)) & byte]
            ^ _TABLES[5, (low >> np.uint32(16)) & byte]
            ^ _TABLES[4, low >> np.uint32(24)]
            ^ _TABLES[3, high & byte]
            ^ _TABLES[2, (high >> np.uint32(8)) & byte]
            ^ _TABLES[1, (high >> np.uint32(16)) & byte]
            ^ _TABLES[0, high >> np.uint32(24)]
        )
        i += eight
    while i < stop:
        crc = (crc >> np.uint32(8)) ^ _TABLES[0, (crc ^ np.uint32(buffer[i])) & byte]
        i += one
    crc ^= np.uint32(0xFFFFFFFF)
    return np.uint32(((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8))


@kernel()
def _long_varint(buffer, at, end):
    value = np.uint64(0)
    shift = 0
    while at < end and shift < 70:
        b = np.uint64(buffer[np.uint64(at)])
        at += 1
        if shift < 64:
            value |= (b & np.uint64(0x7F)) << np.uint64(shift)
        if b < np.uint64(0x80):
            return value, at
        shift += 7
    return value, np.int64(-1)


@kernel()
def _varint(buffer, at, end):
    """Value and the position after it; position -1 if the bytes are not a varint.

    Nearly all varints of an event have one byte, which is worth a separate path.
    """
    if at < end and buffer[np.uint64(at)] < 0x80:
        value = np.uint64(buffer[np.uint64(at)])
        position = np.int64(at + 1)
    else:
        value, position = _long_varint(buffer, at, end)
    return value, position


@kernel()
def _field(buffer, at, end):
    """Return number and wire type of the field at ``at``, start and end of its content, and its varint.

    The end is -1 if the bytes are not a field.
    """
    key, begin = _varint(buffer, at, end)
    number = np.int64(key >> np.uint64(3))
    wire = np.int64(key & np.uint64(7))
    stop = np.int64(-1)
    value = np.uint64(0)
    if begin >= 0 and number > 0:
        if wire == 0:
            value, stop = _varint(buffer, begin, end)
        elif wire == 1:
            stop = begin + 8
        elif wire == 5:
            stop = begin + 4
        elif wire == 2:
            value, begin = _varint(buffer, begin, end)
            if begin >= 0 and value <= np.uint64(end - begin):
                stop = begin + np.int64(value)
        if stop > end:
            stop = np.int64(-1)
    return number, wire, begin, stop, value


@kernel()
def _tensor_number(buffer, at, end):
    """Find the number of a float or double tensor that holds exactly one.

    Return the number's width in bytes and its position; width 0 for any other tensor, -1 if the bytes are not a tensor.
    """
    dtype = np.int64(0)
    dimensions = 0
    single = True
    numbers = 0
    width = 0
    where = np.int64(0)
    while at < end:
        number, wire, begin, stop, value = _field(buffer, at, end)
        if stop < 0:
            return -1, where
        if number == 1 and wire == 0:
            dtype = np.int64(value)
        elif number == 2 and wire == 2:
            inner = begin
            while inner < stop:
                n, w, b, s, _ = _field(buffer, inner, stop)
                if s < 0:
                    return -1, where
                if n == 2 and w == 2:
                    dimensions += 1
                    size = np.uint64(0)
                    dim = b
                    while dim < s:
                        dn, dw, _db, ds, dv = _field(buffer, dim, s)
                        if ds < 0:
                            return -1, where
                        if dn == 1 and dw == 0:
                            size = dv
                        dim = ds
                    single = single and size == np.uint64(1)
                elif n == 3:
                    single = False
                inner = s
        elif number == 4 and wire == 2:
            if stop > begin:
                width = 8 if dtype == 2 else 4
                numbers += 1 if stop - begin == width else 2
                where = begin
        elif number == 5 and (wire == 2 or wire == 5):
            if stop > begin:
                width = 4
                numbers += 1 if stop - begin == 4 else 2
                where = begin
        elif number == 6 and (wire == 1 or wire == 2) and stop > begin:
            width = 8
            numbers += 1 if stop - begin == 8 else 2
            where = begin
        at = stop
    number_is_one = (dtype == 1 and width == 4) or (dtype == 2 and width == 8)
    if numbers != 1 or not single or dimensions > MOST_DIMENSIONS or not number_is_one:
        width = 0
    return width, where


@kernel()
def _same_bytes(buffer, at, arena, start, length):
    same = True
    k = np.int64(0)
    while same and k + 8 <= length:
        same = _u64(buffer, at + k) == _u64(arena, start + k)
        k += 8
    while same and k < length:
        same = buffer[np.uint64(at + k)] == arena[np.uint64(start + k)]
        k += 1
    return same


@kernel()
def _intern(buffer, at, length, state, arena, starts, slots, successors):
    """Return the number of the tag whose bytes start at ``at``; -1 if a table is full.

    Logs repeat their tags in the same order step after step, so the tag that followed last time is tried first.
    """
    previous = state[PREVIOUS_TAG]
    guess = successors[previous + 1]
    if guess >= 0:
        start = starts[guess]
        if starts[guess + 1] - start == length and _same_bytes(buffer, at, arena, start, length):
            state[PREVIOUS_TAG] = guess
            return guess
    h = np.uint64(0xCBF29CE484222325)
    for k in range(length):
        h = (h ^ np.uint64(buffer[np.uint64(at + k)])) * np.uint64(0x100000001B3)
    h ^= h >> np.uint64(29)
    mask = np.uint64(len(slots) - 1)
    slot = h & mask
    while slots[slot] >= 0:
        tag = slots[slot]
        start = starts[tag]
        if starts[tag + 1] - start == length and _same_bytes(buffer, at, arena, start, length):
            successors[previous + 1] = tag
            state[PREVIOUS_TAG] = tag
            return np.int64(tag)
        slot = (slot + np.uint64(1)) & mask
    tag = state[TAGS]
    if tag + 2 > len(starts) - 1 or 2 * (tag + 1) > len(slots) or state[ARENA] + length > len(arena):
        return np.int64(-1)
    for k in range(length):
        arena[state[ARENA] + k] = buffer[np.uint64(at + k)]
    state[ARENA] += length
    starts[tag + 1] = state[ARENA]
    slots[slot] = tag
    state[TAGS] = tag + 1
    successors[previous + 1] = tag
    state[PREVIOUS_TAG] = tag
    return tag


@kernel()
def _number(buffer, at, width):
    if width == 4:
        number = np.float64(_f32(buffer, at))
    elif width == 8:
        number = _f64(buffer, at)
    else:
        number = np.nan
    return number


@kernel()
def _make_template(buffer, data, tag, header_crc, layout, templates, layouts):
    """Store the shape of a tag's record: its bytes, without the bits that differ from point to point.

    The next record of the tag usually differs only in wall time, step and number. If its other bits are the same, its
    fields are at the same positions and need no parsing. Of the step's varint, the bits that mark its end are compared.
    """
    length = layout[_LENGTH]
    layouts[tag, _NUMBER_WIDTH] = 0
    if layout[_NUMBER_WIDTH] == 0 or layout[_WALL_TIME_AT] == 0 or layout[_STEP_AT] == 0:
        return
    if length > 8 * TEMPLATE_WORDS:
        return
    for word in range((length + 7) // 8):
        mask = np.uint64(0)
        for k in range(8):
            at = 8 * word + k
            bits = np.uint64(0xFF)
            if at >= length or layout[_WALL_TIME_AT] <= at < layout[_WALL_TIME_AT] + 8:
                bits = np.uint64(0)
            elif layout[_STEP_AT] <= at < layout[_STEP_END]:
                bits = np.uint64(0x80)
            elif layout[_NUMBER_AT] <= at < layout[_NUMBER_AT] + layout[_NUMBER_WIDTH]:
                bits = np.uint64(0)
            mask |= bits << np.uint64(8 * k)
        templates[tag, word] = _u64(buffer, data + 8 * word) & mask
        templates[tag, TEMPLATE_WORDS + word] = mask
    for k in range(LAYOUT_NUMBERS):
        layouts[tag, k] = layout[k]
    layouts[tag, _HEADER_CRC] = header_crc


@kernel()
def _step_at(buffer, at, end):
    value = np.uint64(0)
    for k in range(end - at):
        value |= (np.uint64(buffer[np.uint64(at + k)]) & np.uint64(0x7F)) << np.uint64(7 * k)
    return np.int64(value)


@kernel()
def _find_header(buffer, at, end):
    found = np.int64(-1)
    while at + HEADER_BYTES <= end:
        if _u64(buffer, at) <= np.uint64(LARGEST_RECORD) and _masked_crc(buffer, at, at + 8) == _u32(buffer, at + 8):
            found = at
            break
        at += 1
    return found


@kernel()
def _note(damages, state, offset, length, reason):
    damages[state[DAMAGES], 0] = offset
    damages[state[DAMAGES], 1] = length
    damages[state[DAMAGES], 2] = reason
    state[DAMAGES] += 1


@kernel()
def _next_record(buffer, at, end, base, state, damages):
    """Find the next record with a valid header, and record the damage before it.

    Return -1, or an `Outcome` if no complete record follows; the start of the record; and the end of its data.
    """
    data_end = np.int64(at)
    if end - at < HEADER_BYTES:
        return 0, at, data_end
    if _u64(buffer, at) > np.uint64(LARGEST_RECORD) or _masked_crc(buffer, at, at + 8) != _u32(buffer, at + 8):
        if state[DAMAGES] >= len(damages):
            return 3, at, data_end
        found = _find_header(buffer, at + 1, end)
        if found < 0:
            return 4, at, data_end
        _note(damages, state, base + at, found - at, 0)
        at = found
        state[POSITION] = at
    data_end = at + HEADER_BYTES + np.int64(_u64(buffer, at))
    if data_end + FOOTER_BYTES > end:
        state[NEEDED] = data_end + FOOTER_BYTES - at
        return 0, at, data_end
    return -1, at, data_end


@kernel()
def _scan_values(
    buffer,
    at,
    end,
    base,
    wall_time,
    step,
    offset,
    length,
    state,
    rows,
    arena,
    starts,
    slots,
    successors,
    layout,
):
    """Add a row per value of the summary at ``at``. Returns 0, -1 for damage, or an `Outcome` for a full table."""
    index = 0
    data = offset - base
    while at < end:
        number, wire, begin, stop, _value = _field(buffer, at, end)
        if stop < 0:
            return -1
        at = stop
        if number != 1 or wire != 2:
            continue
        row = state[ROWS]
        if row >= len(rows):
            return 1
        width = 0
        where = begin
        tag_begin, tag_length = begin, np.int64(0)
        node_begin, node_length = begin, np.int64(0)
        inner = begin
        tensors = 0
        holds_something = False
        while inner < stop:
            n, w, b, s, _v = _field(buffer, inner, stop)
            if s < 0:
                return -1
            holds_something |= (n == 2 and w == 5) or (w == 2 and (3 <= n <= 6 or n == 8))
            if n == 1 and w == 2:
                tag_begin, tag_length = b, s - b
            elif n == 2 and w == 5:
                width, where = 4, b
            elif n == 7 and w == 2:
                node_begin, node_length = b, s - b
            elif n == 8 and w == 2:
                width, where = _tensor_number(buffer, b, s)
                if width < 0:
                    return -1
                tensors += 1
                if tensors > 1:
                    # Protobuf merges them.
                    width = 0
            elif 3 <= n <= 6:
                width = 0
            inner = s
        if tag_length == 0:
            tag_begin, tag_length = node_begin, node_length
        if tag_length == 0 and not holds_something:
            # No point and no row, lest a small file of empty values fill memory.
            index += 1
            continue
        tag = _intern(buffer, tag_begin, tag_length, state, arena, starts, slots, successors)
        if tag < 0:
            return 2
        rows[row].wall_time = wall_time
        rows[row].step = step
        rows[row].value = _number(buffer, where, width)
        rows[row].offset = offset
        rows[row].length = length
        rows[row].tag = tag
        rows[row].index = index
        rows[row].value_at = begin - data
        rows[row].value_length = stop - begin
        rows[row].form = BLOB if width == 0 else NUMBER
        state[ROWS] = row + 1
        layout[_NUMBER_AT] = where - data
        layout[_NUMBER_WIDTH] = width if index == 0 else 0
        index += 1
    return 0


@kernel()
def _scan_event(buffer, at, end, base, state, rows, arena, starts, slots, successors, layout):
    """Add the rows of one event. Returns 0, -1 for damage, or an `Outcome` for a full table."""
    wall_time = 0.0
    step = np.int64(0)
    what = np.int64(0)
    what_begin = what_end = at
    data = at
    offset, length = base + at, end - at
    layout[:] = 0
    layout[_LENGTH] = length
    while at < end:
        number, wire, begin, stop, value = _field(buffer, at, end)
        if stop < 0:
            return -1
        if number == 1 and wire == 1:
            wall_time = _f64(buffer, begin)
            layout[_WALL_TIME_AT] = begin - data
        elif number == 2 and wire == 0:
            step = np.int64(value)
            layout[_STEP_AT] = begin - data
            layout[_STEP_END] = stop - data
        elif 3 <= number <= 9 and wire == 2:
            if what != 0:
                return -1
            what, what_begin, what_end = number, begin, stop
        at = stop
    if what == _EVENT_SUMMARY:
        return _scan_values(
            buffer,
            what_begin,
            what_end,
            base,
            wall_time,
            step,
            offset,
            length,
            state,
            rows,
            arena,
            starts,
            slots,
            successors,
            layout,
        )
    if what == 0:
        return 0
    row = state[ROWS]
    if row >= len(rows):
        return 1
    rows[row].wall_time = wall_time
    rows[row].step = step
    rows[row].value = np.nan
    rows[row].offset = offset
    rows[row].length = length
    rows[row].tag = -what
    rows[row].index = 0
    rows[row].value_length = 0
    rows[row].form = BLOB
    state[ROWS] = row + 1
    return 0


@kernel()
def scan(buffer, begin, end, base, state, rows, arena, starts, slots, successors, templates, layouts, damages):
    layout = np.zeros(LAYOUT_NUMBERS, np.int64)
    at = begin
    outcome = 0
    state[NEEDED] = 0
    while True:
        # Records of known shapes, with no state in memory: for all LLVM knows, writes could alias it.
        first_row = row = state[ROWS]
        previous = state[PREVIOUS_TAG]
        while end - at >= HEADER_BYTES and row < len(rows):
            guess = np.int64(successors[previous + 1])
            if guess < 0:
                break
            tag = np.uint64(guess)
            data_begin = at + HEADER_BYTES
            data_end = data_begin + layouts[tag, _LENGTH]
            if not (
                layouts[tag, _LENGTH] == np.int64(_u64(buffer, at))
                and layouts[tag, _HEADER_CRC] == np.int64(_u32(buffer, at + 8))
                and layouts[tag, _NUMBER_WIDTH] > 0
                and data_end + 8 <= end
            ):
                break
            # Check to the end regardless: it nearly always fits. A separate function takes three times as long.
            other = np.uint64(0)
            word = np.uint64(0)
            place = np.uint64(data_begin)
            while place < np.uint64(data_end):
                other |= (_u64(buffer, place) & templates[tag, np.uint64(TEMPLATE_WORDS) + word]) ^ templates[tag, word]
                word += np.uint64(1)
                place += np.uint64(8)
            if other != np.uint64(0) or _masked_crc(buffer, data_begin, data_end) != _u32(buffer, data_end):
                break
            each = rows[np.uint64(row)]
            each.wall_time = _f64(buffer, data_begin + layouts[tag, _WALL_TIME_AT])
            each.step = _step_at(buffer, data_begin + layouts[tag, _STEP_AT], data_begin + layouts[tag, _STEP_END])
            each.value = _number(buffer, data_begin + layouts[tag, _NUMBER_AT], layouts[tag, _NUMBER_WIDTH])
            each.offset = base + data_begin
            each.length = data_end - data_begin
            each.tag = guess
            each.index = 0
            each.value_length = 0
            each.form = NUMBER
            row += 1
            previous = guess
            at = data_end + FOOTER_BYTES
        state[ROWS] = row
        state[RECORDS] += row - first_row
        state[PREVIOUS_TAG] = previous
        state[POSITION] = at
        if end - at < HEADER_BYTES:
            break
        found, at, data_end = _next_record(buffer, at, end, base, state, damages)
        if found >= 0:
            outcome = found
            break
        data_begin = at + HEADER_BYTES
        damage = -1
        if _masked_crc(buffer, data_begin, data_end) != _u32(buffer, data_end):
            damage = 1
        else:
            rows_before = state[ROWS]
            result = _scan_event(
                buffer, data_begin, data_end, base, state, rows, arena, starts, slots, successors, layout
            )
            if result > 0:
                state[ROWS] = rows_before
                outcome = result
                break
            if result < 0:
                state[ROWS] = rows_before
                damage = 2
            else:
                state[RECORDS] += 1
                if layout[_NUMBER_WIDTH] > 0 and data_end + 8 <= end:
                    _make_template(
                        buffer,
                        data_begin,
                        state[PREVIOUS_TAG],
                        np.int64(_u32(buffer, at + 8)),
                        layout,
                        templates,
                        layouts,
                    )
        if damage >= 0:
            if state[DAMAGES] >= len(damages):
                outcome = 3
                break
            _note(damages, state, base + at, data_end + FOOTER_BYTES - at, damage)
        at = data_end + FOOTER_BYTES
    return outcome


@kernel()
def scan_files(
    buffer, ends, first, rows, state, arena, starts, slots, successors, templates, layouts, damages, row_ends, records
):
    """Scan concatenated files, starting at file ``first``, each as if it were the only one.

    Fill ``row_ends`` and ``records``, which is -1 for a file that does not consist of whole, undamaged records and then
    has no rows. Return the file at which the table of tags is full.
    """
    for file in range(first, len(ends)):
        begin = np.int64(0) if file == 0 else ends[file - 1]
        rows_before = np.int64(0) if file == 0 else row_ends[file - 1]
        # The shape of a tag's first record is examined in each file.
        for tag in range(state[TAGS]):
            layouts[tag, _NUMBER_WIDTH] = 0
        state[ROWS] = rows_before
        state[RECORDS] = 0
        state[DAMAGES] = 0
        state[PREVIOUS_TAG] = -1
        outcome = scan(
            buffer,
            begin,
            ends[file],
            -begin,
            state,
            rows,
            arena,
            starts,
            slots,
            successors,
            templates,
            layouts,
            damages,
        )
        if outcome == 2:
            return file
        records[file] = state[RECORDS]
        if outcome != 0 or state[DAMAGES] > 0 or state[POSITION] < ends[file]:
            records[file] = -1
            state[ROWS] = rows_before
        row_ends[file] = state[ROWS]
    return len(ends)


@kernel()
def split_by_tag(rows, steps, step_begins, wall_times, values, numbers, is_blob, group_ends, goes_back):
    """Fill the columns of `stepscope.summary.scan.RowsByTag`; returns how many elements of ``steps`` count."""
    group_ends[:] = 0
    goes_back[:] = False
    tags = len(group_ends)
    for row in range(len(rows)):
        tag = rows[row].tag
        if tag >= 0 and tag + 1 < tags:
            group_ends[tag + 1] += 1
    for tag in range(1, tags):
        group_ends[tag] += group_ends[tag - 1]
    begins = group_ends.copy()
    for row in range(len(rows)):
        tag = rows[row].tag
        if tag >= 0:
            at = group_ends[tag]
            steps[at] = rows[row].step
            wall_times[at] = rows[row].wall_time
            values[at] = rows[row].value
            numbers[at] = row
            is_blob[at] = rows[row].form != NUMBER
            if at > begins[tag] and steps[at] < steps[at - 1]:
                goes_back[tag] = True
            group_ends[tag] = at + 1
    return _pack_steps(steps, step_begins, begins, group_ends)


@kernel()
def _pack_steps(steps, step_begins, begins, ends):
    packed = 0
    before = 0
    for tag in range(len(ends)):
        count = ends[tag] - begins[tag]
        same = packed - before == count
        if same:
            for index in range(count):
                if steps[before + index] != steps[begins[tag] + index]:
                    same = False
                    break
        if not same:
            before = packed
            for index in range(count):
                steps[packed + index] = steps[begins[tag] + index]
            packed += count
        step_begins[tag] = before
    return packed


@kernel()
def frame_records(buffer, begin, end, base, state, records, damages):
    """Fill int64 ``records[n, 2]`` with the start and end of each record's data, as far as there is room.

    Return an `Outcome`; ``ROWS_FULL`` if there was not enough room.
    """
    at = np.int64(begin)
    state[NEEDED] = 0
    while True:
        state[POSITION] = at
        if state[RECORDS] >= len(records):
            return 1
        outcome, at, data_end = _next_record(buffer, at, end, base, state, damages)
        if outcome >= 0:
            return outcome
        data_begin = at + HEADER_BYTES
        if _masked_crc(buffer, data_begin, data_end) == _u32(buffer, data_end):
            records[state[RECORDS], 0] = data_begin
            records[state[RECORDS], 1] = data_end
            state[RECORDS] += 1
        else:
            if state[DAMAGES] >= len(damages):
                return 3
            _note(damages, state, base + at, data_end + FOOTER_BYTES - at, 1)
        at = data_end + FOOTER_BYTES


@kernel()
def split_messages(buffer, begins, ends, layout, repeated, fields, plain):
    """Find the fields of messages, for `stepscope.summary.messages.split`."""
    for row in range(len(begins)):
        at, end = begins[row], ends[row]
        seen = np.int64(0)
        while plain[row] and at < end:
            number, wire, begin, stop, value = _field(buffer, at, end)
            # Bytes on which parsers disagree are left to one of them: multi-byte keys, long varints.
            fits = (
                stop >= 0
                and number < len(layout)
                and layout[number, 1] == wire
                and buffer[np.uint64(at)] < 0x80
                and (begin - at <= 6 if wire == 2 else stop - begin <= 9)
            )
            if not fits:
                plain[row] = False
                break
            slot = layout[number, 0]
            if number == repeated:
                fields[slot, 0, row] += 1
            elif (seen >> number) & 1:
                plain[row] = False
            elif wire == 0:
                fields[slot, 0, row] = np.int64(value)
            else:
                fields[slot, 0, row] = begin
                fields[slot, 1, row] = stop
            seen |= np.int64(1) << number
            at = stop


@kernel()
def repeated_messages(buffer, begins, ends, number, plain, found):
    """Fill int64 ``found[2, n]`` with the start and end of each message of a repeated field, in order."""
    count = 0
    for row in range(len(begins)):
        at = begins[row]
        while plain[row] and at < ends[row]:
            each, _wire, begin, stop, _value = _field(buffer, at, ends[row])
            if each == number:
                found[0, count] = begin
                found[1, count] = stop
                count += 1
            at = stop


@kernel()
def count_varints(buffer, begins, ends, counts, plain):
    """Count the numbers of packed fields."""
    for row in range(len(begins)):
        counts[row] = 0
        length = 0
        for at in range(begins[row], ends[row]):
            length += 1
            if buffer[np.uint64(at)] < 0x80:
                counts[row] += 1
                length = 0
            elif length >= 9:
                plain[row] = False
        if length:
            plain[row] = False


@kernel()
def packed_varints(buffer, begins, ends, plain, numbers):
    """Fill int64 ``numbers`` with the concatenated numbers of packed fields counted by `count_varints`."""
    count = 0
    for row in range(len(begins)):
        at = begins[row]
        while plain[row] and at < ends[row]:
            value, at = _varint(buffer, at, ends[row])
            numbers[count] = np.int64(value)
            count += 1


@kernel()
def doubles_at(buffer, begins, counts, found):
    """Fill float64 ``found[n, most]`` with ``counts`` numbers starting at each position."""
    for row in range(len(begins)):
        for k in range(counts[row]):
            found[row, k] = _f64(buffer, begins[row] + 8 * k)


@kernel()
def number_keys(buffer, first, parts, numbers, plain, scratch, state, arena, starts, slots, successors, keys):
    """Intern keys shared by messages: some ranges of bytes and some numbers.

    Fill ``keys``, starting at row ``first``; return the row at which a table is full.
    """
    for row in range(first, len(keys)):
        keys[row] = -1
        if not plain[row]:
            continue
        length = 8 * len(parts) + 8 * len(numbers)
        for part in range(len(parts)):
            length += parts[part, 1, row] - parts[part, 0, row]
        if length > len(scratch):
            plain[row] = False
            continue
        at = 0
        for part in range(len(parts)):
            begin, stop = parts[part, 0, row], parts[part, 1, row]
            at = _put_number(scratch, at, stop - begin)
            for k in range(begin, stop):
                scratch[at] = buffer[np.uint64(k)]
                at += 1
        for number in range(len(numbers)):
            at = _put_number(scratch, at, numbers[number, row])
        keys[row] = _intern(scratch, 0, at, state, arena, starts, slots, successors)
        if keys[row] < 0:
            return row
    return len(keys)


@kernel()
def _put_number(scratch, at, number):
    """Write a number so that no two keys are equal by chance; return the position after it."""
    for k in range(8):
        scratch[at + k] = np.uint8((np.uint64(number) >> np.uint64(8 * k)) & np.uint64(0xFF))
    return at + 8
