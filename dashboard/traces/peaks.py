"""The peaks of a trace's devices in words, for the page and the terminal."""

from stepscope.profiler.analysis.device_peaks import PRECISIONS
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.roofline import device_peaks, peaks_in_use


def peaks_words(facts: Facts) -> str:
    """Return whose peaks the roofline uses, which ones, and their source; empty if none are known."""
    peaks = device_peaks(facts)
    if peaks is None:
        return ""
    known = [f"{peak / 1e12:g} TFLOP/s ({PRECISIONS[each]})" for each, peak in peaks_in_use(facts).items()]
    moved = [f"{peaks.gb_per_s:,g} GB/s"] if peaks.gb_per_s else []
    return f"Peaks of {peaks.name}: {', '.join([*known, *moved]) or 'not in use'}. Source: {peaks.source}"
