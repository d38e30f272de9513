"""The health of PyTorch tensors, computed on their device in one pass over each chunk."""

import math
import weakref
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from stepscope.debug.health import COUNTS, SUMS, figures_of_sums
from stepscope.summary.debugger.measures import LIMITS

_CPU_PIECE: Final = 1 << 18
"""Number of elements processed at once: what is computed of them stays in the processor's cache."""
_DEVICE_PIECE: Final = 1 << 24
"""Number of elements processed at once: the additional memory for a large tensor stays below 256 MiB."""
_CANCELLED: Final = 1e-6
"""Below this share of the squares, deviations are not computed from the squares: too few of their digits would be
left."""
_INFINITY: Final = math.inf


class HealthBatch:
    """Values of one step whose health is being measured: on their devices, and copied from there all at once."""

    def __init__(self) -> None:
        self._sums: list[tuple[float, ...] | None] = []
        self._sizes: list[int] = []
        self._floating: list[bool] = []
        self._waiting: dict[torch.device, list[tuple[int, torch.Tensor]]] = {}
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}
        """A tensor, its version, and its place, by the tensor's identity."""
        self._dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._sums)

    @property
    def is_here(self) -> bool:
        """Whether all results are available without waiting for a device."""
        return not self._waiting

    def add(self, tensor: torch.Tensor) -> None:
        """Measure one more value, as it is now: on the CPU immediately, else as part of the device's queue."""
        if self._repeats(tensor):
            return
        numbers, dtype = _plain(tensor)
        self._sizes.append(numbers.numel())
        self._floating.append(dtype in LIMITS)
        if not numbers.numel():
            self._sums.append((0.0,) * len(SUMS))
        elif numbers.device.type == "cpu" and type(numbers) is torch.Tensor:
            self._sums.append(sums_on_cpu(numbers, dtype))
        else:
            self._waiting.setdefault(numbers.device, []).append((len(self._sums), sums_on_device(numbers, dtype)))
            self._sums.append(None)

    def drop(self, places: Iterable[int]) -> None:
        """Leave values out: their size becomes NaN."""
        self._dropped += places

    def _repeats(self, tensor: torch.Tensor) -> bool:
        """Return whether the same value was measured before, as when a module returns its last part's result.

        Then it is not measured again.
        """
        if tensor.is_inference():
            return False
        version: int = tensor._version
        known, then, before = self._known.get(id(tensor), (None, -1, 0))
        if known is None or known() is not tensor or then != version:
            self._known[id(tensor)] = (weakref.ref(tensor), version, len(self._sums))
            return False
        place = len(self._sums)
        self._sums.append(self._sums[before])
        self._sizes.append(self._sizes[before])
        self._floating.append(self._floating[before])
        for waiting in self._waiting.values():
            waiting.extend([(place, row) for other, row in waiting if other == before])
        return True

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics of all values, [n, len(FIGURES)]; waits for each device once."""
        sums = np.zeros((len(self._sums), len(SUMS)))
        here = [place for place, row in enumerate(self._sums) if row is not None]
        if here:
            sums[here] = [self._sums[place] for place in here]
        for waiting in self._waiting.values():
            sums[[place for place, _ in waiting]] = _copied([row for _, row in waiting])
        sizes = np.array(self._sizes, np.float64)
        sizes[self._dropped] = np.nan
        return figures_of_sums(sums, sizes, np.array(self._floating, bool))


def dtype_name(dtype: torch.dtype) -> str:
    """Return a type's name without the library's name."""
    return str(dtype).removeprefix("torch.")


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """Return a dense tensor of the elements that a tensor stores in this process."""
    found: Any = tensor.detach()
    if hasattr(found, "to_local"):  # a DTensor: this process's part
        found = found.to_local()
    if found.layout != torch.strided:
        found = found.coalesce().values() if found.layout == torch.sparse_coo else found.values()
    return found.dequantize() if found.is_quantized else found


def _plain(tensor: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Return a dense, real tensor with the same elements, and the type whose limits count."""
    found = stored(tensor)
    if found.is_complex():
        found = torch.view_as_real(found.resolve_conj())
    found = found.resolve_neg()
    return found, dtype_name(found.dtype)


def _pieces(numbers: torch.Tensor, most: int) -> tuple[torch.Tensor, ...]:
    flat = numbers.reshape(-1)
    return (flat,) if flat.numel() <= most else flat.split(most)


def _computable(piece: torch.Tensor) -> torch.Tensor:
    """Return the same numbers in a type that all operations used here accept."""
    if piece.dtype in (torch.float32, torch.float64):
        return piece
    if piece.is_floating_point():
        return piece.to(torch.float32)
    return piece.to(torch.float64 if piece.device.type != "mps" else torch.float32)


def sums_on_cpu(numbers: torch.Tensor, dtype: str) -> tuple[float, ...]:
    """Return `SUMS` of a tensor on the CPU with at least one element.

    Counts that the minimum and maximum rule out are not computed.
    """
    parts = [_piece_on_cpu(_computable(piece), dtype) for piece in _pieces(numbers, _CPU_PIECE)]
    if len(parts) == 1:
        return parts[0]
    sizes = [piece.numel() for piece in _pieces(numbers, _CPU_PIECE)]
    table = np.array(parts)
    return tuple(_joined(table, np.array(sizes, np.float64)).tolist())


def _piece_on_cpu(x: torch.Tensor, dtype: str) -> tuple[float, ...]:
    # NumPy compares and counts several times as fast as PyTorch on the CPU; the array shares the tensor's memory.
    size, array = x.numel(), x.numpy()
    low, high = (bound.item() for bound in torch.aminmax(x))
    nan = positive = negative = 0
    finite = x
    if not (math.isfinite(low) and math.isfinite(high)):
        nan = _count(np.isnan(array))
        positive, negative = (_count(array == bound) for bound in (_INFINITY, -_INFINITY))
        finite = torch.nan_to_num(x, 0.0, 0.0, 0.0)
        usual = x[torch.isfinite(x)]
        low, high = (bound.item() for bound in torch.aminmax(usual)) if usual.numel() else (math.nan, math.nan)
    # Zeros are not negative, so it does not matter that they replace non-finite values here.
    negatives = 0 if low >= 0 else _count(finite.numpy() < 0)
    magnitude = x.abs()
    limits = LIMITS.get(dtype)
    least = magnitude.amin().item()
    zeros = underflow = overflow = 0
    if not least > 0:
        zeros = _count(array == 0)
    if limits is not None:
        if not least >= limits.smallest:
            underflow = _count(magnitude.numpy() < limits.smallest) - zeros
        if nan or positive or negative or max(-low, high) >= limits.largest / 2:
            overflow = _count(magnitude.numpy() >= limits.largest / 2)
    exact = finite.to(torch.float64)
    total, squares = exact.sum().item(), torch.dot(exact, exact).item()
    if low >= 0 or high <= 0:
        absolutes = abs(total)
    else:
        absolutes = (magnitude if finite is x else finite.abs()).sum(dtype=torch.float64).item()
    deviations = squares - total * total / size
    if not deviations > _CANCELLED * squares:
        # On the CPU the copy may be the value itself, which must not be changed.
        exact = exact - total / size
        deviations = torch.dot(exact, exact).item()
    return (
        nan,
        positive,
        negative,
        zeros,
        negatives,
        underflow,
        overflow,
        low,
        high,
        total,
        squares,
        absolutes,
        deviations,
    )


def _count(condition: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(condition))


def sums_on_device(numbers: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return `SUMS` of a tensor with at least one element, without waiting for its device.

    Returns:
        int64 on the device: the counts, then the bits of the others, of float64 or, if the device has none, of float32.
    """
    pieces = [_computable(piece) for piece in _pieces(numbers, _DEVICE_PIECE)]
    parts = [_piece_on_device(piece, dtype) for piece in pieces]
    counts, measures = parts[0]
    if len(parts) > 1:
        counts = torch.stack([part[0] for part in parts]).sum(0)
        rows = torch.stack([part[1] for part in parts])
        sizes = torch.tensor([piece.numel() for piece in pieces], dtype=rows.dtype, device=rows.device)
        sums = rows[:, 2:5].sum(0)
        apart = (rows[:, 2] - sizes * sums[0] / sizes.sum()) ** 2 / sizes
        deviations = (rows[:, 5] + apart).sum()
        measures = torch.cat([rows[:, 0].amin()[None], rows[:, 1].amax()[None], sums, deviations[None]])
    return torch.cat([counts, measures.view(torch.int64)])


def _piece_on_device(x: torch.Tensor, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    size, nonzero = x.numel(), torch.count_nonzero(x)
    nan = torch.count_nonzero(x != x)
    positive, negative = torch.count_nonzero(x == _INFINITY), torch.count_nonzero(x == -_INFINITY)
    negatives = torch.count_nonzero(x < 0) - negative
    limits = LIMITS.get(dtype)
    if limits is None:
        underflow = overflow = torch.zeros_like(nan)
    else:
        magnitude = x.abs()
        underflow = torch.count_nonzero(magnitude < limits.smallest) - (size - nonzero)
        overflow = torch.count_nonzero(magnitude >= limits.largest / 2)
    counts = torch.stack([nan, positive, negative, size - nonzero, negatives, underflow, overflow])
    low = torch.nan_to_num(x, _INFINITY, _INFINITY, _INFINITY).amin().to(wide)
    high = torch.nan_to_num(x, -_INFINITY, -_INFINITY, -_INFINITY).amax().to(wide)
    exact = torch.nan_to_num(x, 0.0, 0.0, 0.0).to(wide)
    total, squares, absolutes = exact.sum(), torch.dot(exact, exact), exact.abs().sum()
    exact = exact - total / size
    return counts, torch.stack([low, high, total, squares, absolutes, torch.dot(exact, exact)])


def _copied(rows: list[torch.Tensor]) -> NDArray[np.float64]:
    """Copy the sums of one device to the host, all at once."""
    table = torch.stack(rows).cpu().numpy()
    wide = table.shape[1] == len(SUMS)
    measures = np.ascontiguousarray(table[:, COUNTS:]).view(np.float64 if wide else np.float32)
    sums = np.concatenate([table[:, :COUNTS].astype(np.float64), measures.astype(np.float64)], axis=1)
    return np.where(
        np.isinf(sums) & (np.arange(len(SUMS)) >= COUNTS) & (np.arange(len(SUMS)) < COUNTS + 2), np.nan, sums
    )


def _joined(parts: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of a value from those of its chunks; deviations by Chan, Golub and LeVeque (1979)."""
    joined: NDArray[np.float64] = parts.sum(0)
    with np.errstate(all="ignore"):
        joined[COUNTS] = np.fmin.reduce(parts[:, COUNTS])
        joined[COUNTS + 1] = np.fmax.reduce(parts[:, COUNTS + 1])
        totals = parts[:, COUNTS + 2]
        joined[-1] += ((totals - sizes * totals.sum() / sizes.sum()) ** 2 / sizes).sum()
    return joined
