"""The health of PyTorch tensors, computed on their device in one pass over each chunk."""

import math
import weakref
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from stepscope.debug.health import COUNTS, SUMS, figures_of_sums
from stepscope.summary.debugger.measures import LIMITS

_CPU_PIECE: Final = 1 << 18
"""Number of elements processed at once: what is computed of them stays in the processor's cache."""
_DEVICE_PIECE: Final = 1 << 23
"""Number of elements processed at once: the additional memory for a large tensor stays below 256 MiB."""
_CANCELLED: Final = 1e-6
"""Below this share of the squares, deviations are not computed from the squares: too few of their digits would be
left."""
_INFINITY: Final = math.inf
_CLASSES: Final = {
    "negative infinity": ("negative_infinity", "overflow"),
    "large negative": ("negatives", "overflow"),
    "negative": ("negatives",),
    "small negative": ("negatives", "underflow"),
    "zero": ("zeros",),
    "small positive": ("underflow",),
    "positive": (),
    "large positive": ("overflow",),
    "infinity": ("positive_infinity", "overflow"),
    "nan": ("nan",),
}
"""The classes of numbers, in ascending order, and the counts of `SUMS` to which their elements add."""
_COUNTED: Final = np.array([[name in counts for name in SUMS[:COUNTS]] for counts in _CLASSES.values()], np.float64)


class _Measured(NamedTuple):
    """A chunk of a value whose sums are being computed on its device."""

    place: int
    """Of the value in its batch."""
    size: int
    classes: torch.Tensor
    """int64 [len(_CLASSES)], number of elements."""
    measures: tuple[torch.Tensor, ...]
    """The other `SUMS`, each of shape []; the first two, minimum and maximum, of the type of the elements."""


class HealthBatch:
    """Values of one step whose health is being measured: on their devices, and copied from there all at once."""

    def __init__(self) -> None:
        self._sums: list[tuple[float, ...] | None] = []
        self._sizes: list[int] = []
        self._floating: list[bool] = []
        self._waiting: dict[tuple[torch.device, torch.dtype], list[_Measured]] = {}
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}
        """A tensor, its version, and its place, by the tensor's identity."""
        self._dropped: list[int] = []
        self._streams: set[torch.cuda.Stream] = set()
        """Those that compute what is waited for: each thread may have its own."""

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
            for piece in _pieces(numbers.contiguous(), _DEVICE_PIECE):
                x = _computable(piece)
                measured = _Measured(len(self._sums), x.numel(), *_measures_on_device(x, dtype))
                self._waiting.setdefault((x.device, x.dtype), []).append(measured)
            # Tensors of a mode of PyTorch that only pretends to compute are on devices that may not exist.
            if numbers.device.type == "cuda" and torch.cuda.is_initialized():
                self._streams.add(torch.cuda.current_stream(numbers.device))
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
            waiting.extend([piece._replace(place=place) for piece in waiting if piece.place == before])
        return True

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics of all values, [n, len(FIGURES)]; waits for their devices."""
        sums = np.zeros((len(self._sums), len(SUMS)))
        here = [place for place, row in enumerate(self._sums) if row is not None]
        if here:
            sums[here] = [self._sums[place] for place in here]
        for stream in self._streams:
            torch.cuda.current_stream(stream.device).wait_stream(stream)
        for waiting in self._waiting.values():
            copied = _copied(waiting)
            places = np.array([piece.place for piece in waiting])
            sums[places] = copied
            counts = np.bincount(places)
            for place in np.flatnonzero(counts > 1).tolist():
                (rows,) = np.nonzero(places == place)
                sums[place] = _joined(copied[rows], np.array([waiting[row].size for row in rows], np.float64))
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


@lru_cache(maxsize=256)
def _bounds(device: torch.device, dtype: torch.dtype, limited: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest number of each class but the last, and the number of each class, int32 [len(_CLASSES), 1].

    Args:
        device: where they are used.
        dtype: type of the elements, float32 or float64.
        limited: name of the type whose limits count.
    """
    number = np.float64 if dtype == torch.float64 else np.float32
    limits = LIMITS.get(limited, LIMITS[dtype_name(dtype)])
    below = np.nextafter(np.array([0, limits.smallest, limits.largest / 2], number), number(-_INFINITY))
    largest = [-_INFINITY, -limits.largest / 2, -limits.smallest, below[0], 0, *below[1:], np.finfo(number).max]
    classes = torch.arange(len(_CLASSES), dtype=torch.int32)[:, None]
    return torch.from_numpy(np.array([*largest, _INFINITY], number)).to(device), classes.to(device)


def _measures_on_device(x: torch.Tensor, dtype: str) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return the parts of a `_Measured` of contiguous numbers [n] without waiting for their device.

    It takes as few operations as possible: for most tensors, starting them takes longer than the device computes.
    """
    # Those of a mode of PyTorch that only pretends to compute are not kept.
    bounds_of = _bounds if type(x) is torch.Tensor else _bounds.__wrapped__
    bounds, classes = bounds_of(x.device, x.dtype, dtype)
    counts = (torch.bucketize(x, bounds, out_int32=True) == classes).sum(1)
    low = torch.nan_to_num(x, _INFINITY, _INFINITY, _INFINITY).amin()
    high = torch.nan_to_num(x, -_INFINITY, -_INFINITY, -_INFINITY).amax()
    exact = torch.nan_to_num(x, 0.0, 0.0, 0.0).to(torch.float32 if x.device.type == "mps" else torch.float64)
    absolutes = torch.linalg.vector_norm(exact, 1)
    return counts, (low, high, exact.sum(), torch.dot(exact, exact), absolutes, exact.var(correction=0))


def _copied(waiting: list[_Measured]) -> NDArray[np.float64]:
    """Copy `SUMS` of chunks of one device and type to the host, [n, len(SUMS)]."""
    columns = [torch.stack(column) for column in zip(*(piece.measures for piece in waiting), strict=True)]
    measures = torch.stack([column.to(columns[-1].dtype) for column in columns], 1).cpu().numpy().astype(np.float64)
    # Nothing finite leaves no bounds.
    measures[:, :2][np.isinf(measures[:, :2])] = math.nan
    measures[:, -1] *= [piece.size for piece in waiting]
    classes = torch.stack([piece.classes for piece in waiting]).cpu().numpy()
    return np.concatenate([classes @ _COUNTED, measures], axis=1)


def _joined(parts: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of a value from those of its chunks; deviations by Chan, Golub and LeVeque (1979)."""
    joined: NDArray[np.float64] = parts.sum(0)
    with np.errstate(all="ignore"):
        joined[COUNTS] = np.fmin.reduce(parts[:, COUNTS])
        joined[COUNTS + 1] = np.fmax.reduce(parts[:, COUNTS + 1])
        totals = parts[:, COUNTS + 2]
        joined[-1] += ((totals - sizes * totals.sum() / sizes.sum()) ** 2 / sizes).sum()
    return joined
