"""URL parameters of the audio panel."""

from typing import Any, Final

from stepscope.dashboard.page.state import Setting, choice, flag, names, number
from stepscope.dashboard.panels.audio.figures import FFT_SIZES

PICTURES: Final = choice("audio.pictures", "both", ("both", "waveform", "spectrogram"))
FFT: Final = choice("audio.fft", "1024", tuple(map(str, FFT_SIZES)))
FREQUENCIES: Final = choice("audio.frequencies", "mel", ("mel", "linear"))
SPECTRA: Final = choice("audio.spectra", "mix", ("mix", "each"))
AMPLITUDE: Final = choice("audio.amplitude", "full", ("full", "fit"))
SPEED: Final = choice("audio.speed", "1", ("0.25", "0.5", "0.75", "1", "1.25", "1.5", "2"))
VOLUME: Final = number("audio.volume", 1.0, 0.0, 1.0)
FLOOR: Final = number("audio.floor", -100.0, -130.0, -10.0)
CEILING: Final = number("audio.ceiling", 0.0, -120.0, 20.0)
LOOP: Final = flag("audio.loop", False)
LINK: Final = flag("audio.link", False)
STEPS: Final = names("audio.step")
"""``TAG:STEP`` for every card whose slider is not at the end."""
SAMPLES: Final = names("audio.sample")
"""``TAG:SAMPLE``, counted from 0, for every card that does not show the first."""
ZOOMS: Final = names("audio.zoom")
"""``TAG:START:STOP`` in seconds for every card that shows only a part of its clips."""
COMPARED: Final = names("audio.compare")
"""A clip under A and one under B, each as JSON ``[slot, tag, run, index, step, wall time, sample]``."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    PICTURES, FFT, FREQUENCIES, SPECTRA, AMPLITUDE, SPEED, VOLUME, FLOOR, CEILING, LOOP, LINK, STEPS, SAMPLES, ZOOMS,
    COMPARED,
)  # fmt: skip
