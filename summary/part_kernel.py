"""The compiled loop that counts the parts of messages, for `stepscope.summary.bounded_messages`.

Nothing here is annotated, as in `stepscope.summary.scan_kernel`.
"""

import numpy as np

from stepscope.summary.kernels import kernel


@kernel()
def count_parts(buffer, first, numbers, kinds, most, deepest):
    """Return the number of parts of a message, up to its first invalid part, or any number above ``most``."""
    ends = np.empty(deepest + 1, np.int64)
    types = np.empty(deepest + 1, np.int64)
    ends[0], types[0] = len(buffer), 0
    at = depth = parts = 0
    while parts <= most:
        if at >= ends[depth]:
            if depth == 0:
                break
            depth -= 1
            continue
        # The key, then the value or length; the begin and end of a group have neither.
        key = value = shift = 0
        more = True
        while more and at < ends[depth] and shift < 70:
            key |= (np.int64(buffer[at]) & 127) << min(shift, 63)
            more = buffer[at] > 127
            at += 1
            shift += 7
        wire = key & 7
        if more or wire > 5:
            break
        if wire == 0 or wire == 2:
            shift = 0
            more = True
            while more and at < ends[depth] and shift < 70:
                value |= (np.int64(buffer[at]) & 127) << min(shift, 63)
                more = buffer[at] > 127
                at += 1
                shift += 7
            if more:
                break
        if wire == 1:
            at += 8
        elif wire == 5:
            at += 4
        length = value if wire == 2 else 0
        if length < 0 or length > ends[depth] - at or at > ends[depth]:
            break
        kind = -1
        for place in range(first[types[depth]], first[types[depth] + 1]):
            if numbers[place] == key >> 3:
                kind = kinds[place]
                break
        if kind != -2:
            parts += 1
        if kind == -3:
            parts += length // 16
        if kind >= 0 and wire == 2 and depth < deepest:
            depth += 1
            ends[depth], types[depth] = at + length, kind
        else:
            at += length
    return parts
