"""The compiled loops that pack the points of many small files, for `stepscope.summary.small_files`.

Nothing here is annotated, as in `stepscope.summary.scan_kernel`, whose rows these loops process.
"""

import numpy as np

from stepscope.summary.kernels import kernel
from stepscope.summary.scan_layout import NUMBER


@kernel()
def _is_version(buffer, at, end):
    """Return whether an event has only a version in ASCII, with or without a wall time and a step."""
    if at + 9 <= end and buffer[at] == 0x09:
        at += 9
    if at < end and buffer[at] == 0x10:
        at += 1
        while at < end and buffer[at] >= 0x80:
            at += 1
        at += 1
    fits = at + 2 <= end and buffer[at] == 0x1A and buffer[at + 1] < 0x80 and at + 2 + buffer[at + 1] == end
    while fits and at < end:
        fits = buffer[at] < 0x80
        at += 1
    return fits


@kernel()
def _is_bare_number(buffer, at, length, arena, start, tag_length):
    """Return whether a value has only a tag, in ASCII, and a ``simple_value``."""
    fits = (
        tag_length < 0x80
        and length == tag_length + 7
        and buffer[at] == 0x0A
        and buffer[at + 1] == tag_length
        and buffer[at + 2 + tag_length] == 0x15
    )
    k = 0
    while fits and k < tag_length:
        fits = arena[start + k] < 0x80 and buffer[at + 2 + k] == arena[start + k]
        k += 1
    return fits


@kernel()
def pack_files(
    buffer, ends, rows, row_ends, records, arena, starts, tags, files, times, entries, firsts, block, narrow
):
    """Pack the points of each undamaged file, tag after tag.

    For each tag, either all values are numbers or none is. Fill the columns `stepscope.summary.small_files.FILES`,
    ``TIMES`` and ``ENTRIES``, and ``firsts`` with the row of the first value of each entry, or -1 if that value has
    only its tag and its number. ``block`` is float64; ``narrow`` is the same memory as float32.
    """
    whole = block.view(np.int64)
    indices = narrow.view(np.int32)
    # Where each entry's next value goes, among the numbers or among the other values.
    kept = np.empty(len(entries), np.int64)
    place = np.full(tags, -1, np.int64)
    at = np.int64(0)
    entry = np.int64(0)
    for file in range(len(ends)):
        begin = np.int64(0) if file == 0 else ends[file - 1]
        row_begin = np.int64(0) if file == 0 else row_ends[file - 1]
        row_end = row_ends[file]
        files[file, 0] = 0
        fits = records[file] >= 0 and row_end > row_begin
        if not fits:
            continue
        begun = ended = np.nan
        count = np.int64(0)
        numbers = np.int64(0)
        found = np.int64(0)
        is_narrow = True
        for row in range(row_begin, row_end):
            tag = rows[row].tag
            time = rows[row].wall_time
            if time > 0 and time < np.inf:
                if not begun > 0:
                    begun = ended = time
                ended = max(ended, time)
            if tag < 0:
                data = begin + rows[row].offset
                fits = fits and tag == -3 and _is_version(buffer, data, data + np.int64(rows[row].length))
            else:
                is_number = rows[row].form == NUMBER
                if place[tag] < 0:
                    place[tag] = found
                    entries[entry + found, 0] = tag
                    entries[entry + found, 1] = 0
                    entries[entry + found, 6] = is_number
                    firsts[entry + found] = row
                    found += 1
                entries[entry + place[tag], 1] += 1
                fits = fits and entries[entry + place[tag], 6] == is_number
                numbers += is_number
                count += 1
        if fits and found > 0:
            # Where each tag's points go; behind the steps, which may turn out to be fewer.
            blobs = count - numbers
            filled = number = blob = np.int64(0)
            for each in range(entry, entry + found):
                entries[each, 2] = filled
                entries[each, 5] = 0
                filled += entries[each, 1]
                if entries[each, 6] == 1:
                    kept[each] = number
                    number += entries[each, 1]
                else:
                    kept[each] = blob
                    blob += entries[each, 1]
            steps, wall_times, offsets = at, at + count, at + 2 * count
            lengths, values = offsets + blobs, offsets + 2 * blobs
            own_indices = 2 * (values + numbers)
            for row in range(row_begin, row_end):
                tag = rows[row].tag
                if tag >= 0:
                    each = entry + place[tag]
                    to = entries[each, 2]
                    step = rows[row].step
                    whole[steps + to] = step
                    if row == firsts[each]:
                        entries[each, 3] = step
                    elif step < entries[each, 4]:
                        entries[each, 5] = 1
                    entries[each, 4] = step
                    block[wall_times + to] = rows[row].wall_time
                    entries[each, 2] = to + 1
                    to = kept[each]
                    if entries[each, 6] == 1:
                        block[values + to] = rows[row].value
                    else:
                        whole[offsets + to] = rows[row].offset
                        whole[lengths + to] = rows[row].length
                        indices[own_indices + to] = rows[row].index
                    kept[each] = to + 1
            for each in range(values, values + numbers):
                number = whole[each]
                block[each] = np.float64(np.float32(block[each]))
                is_narrow = is_narrow and whole[each] == number
                whole[each] = number
            distinct = _pack_entries(whole, steps, entries, entry, found)
            # No gaps between the columns: wall times, offsets and lengths, values, indices.
            for each in range(count + 2 * blobs):
                whole[steps + distinct + each] = whole[wall_times + each]
            to = steps + distinct + count + 2 * blobs
            for each in range(numbers):
                if is_narrow:
                    narrow[2 * to + each] = np.float32(block[values + each])
                else:
                    block[to + each] = block[values + each]
            end_of_values = 2 * to + (numbers if is_narrow else 2 * numbers)
            for each in range(blobs):
                indices[end_of_values + each] = indices[own_indices + each]
            for each in range(entry, entry + found):
                row = firsts[each]
                start = starts[entries[each, 0]]
                value_at = begin + rows[row].offset + np.int64(rows[row].value_at)
                length = np.int64(rows[row].value_length)
                if _is_bare_number(buffer, value_at, length, arena, start, starts[entries[each, 0] + 1] - start):
                    firsts[each] = -1
            files[file, 0] = 1
            files[file, 1] = is_narrow
            files[file, 2] = entry
            files[file, 3] = entry + found
            files[file, 4] = distinct
            files[file, 5] = 8 * at
            files[file, 6] = 4 * (end_of_values + blobs)
            times[file, 0] = rows[row_begin].wall_time
            times[file, 1] = begun
            times[file, 2] = ended
            at = (end_of_values + blobs + 1) // 2
        for each in range(entry, entry + found):
            place[entries[each, 0]] = -1
        if files[file, 0] == 1:
            entry += found


@kernel()
def _pack_entries(whole, steps, entries, first, count):
    """Store equal steps of neighboring tags once; return the number of steps."""
    packed = np.int64(0)
    before = np.int64(0)
    for each in range(first, first + count):
        length = entries[each, 1]
        begin = entries[each, 2] - length
        same = packed - before == length
        index = np.int64(0)
        while same and index < length:
            same = whole[steps + before + index] == whole[steps + begin + index]
            index += 1
        if not same:
            before = packed
            for index in range(length):
                whole[steps + packed + index] = whole[steps + begin + index]
            packed += length
        entries[each, 2] = before
    return packed
