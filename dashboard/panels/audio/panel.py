"""The audio panel: one card per tag, with a clip of every shown run at one step."""

from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from dashboard.page.colors import RunColor
from dashboard.page.controls import number_slider, segmented, short_select, switch, tag_filter_input
from dashboard.page.state import Setting, View, choice, flag, names, number
from dashboard.panels.audio.figures import FFT_SIZES
from dashboard.panels.audio.routes import make_router
from dashboard.panels.card_panel import CardPanel
from dashboard.panels.cards import Draw, tag_keys, titled_card
from dashboard.server.arrays import typed
from summary.kinds.audio import PLUGIN_NAME

PICTURES = choice("audio.pictures", "both", ("both", "waveform", "spectrogram"))
FFT = choice("audio.fft", "1024", tuple(map(str, FFT_SIZES)))
FREQUENCIES = choice("audio.frequencies", "mel", ("mel", "linear"))
SPECTRA = choice("audio.spectra", "mix", ("mix", "each"))
AMPLITUDE = choice("audio.amplitude", "full", ("full", "fit"))
SPEEDS = ("0.25", "0.5", "0.75", "1", "1.25", "1.5", "2")
SPEED = choice("audio.speed", "1", SPEEDS)
VOLUME = number("audio.volume", 1.0, 0.0, 1.0)
FLOOR = number("audio.floor", -100.0, -130.0, -10.0)
CEILING = number("audio.ceiling", 0.0, -120.0, 20.0)
LOOP = flag("audio.loop", False)
LINK = flag("audio.link", False)
STEPS = names("audio.step")
"""``TAG:STEP`` for every card whose slider is not at the end."""
SAMPLES = names("audio.sample")
"""``TAG:SAMPLE``, counted from 0, for every card that shows another than the first."""
ZOOMS = names("audio.zoom")
"""``TAG:START:STOP`` in seconds for every card that shows a part of its clips."""
COMPARED = names("audio.compare")
"""A clip under A and one under B, each as JSON ``[tag, run, step, sample]``."""


class AudioPanel(CardPanel):
    """Sound over steps."""

    name = "audio"
    title = "Audio"
    kinds = ("audio",)

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="Audio",
            keys=lambda snapshot, view: tag_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            depends=depends,
            draw=draw,
            toolbar=lambda _snapshot, view: toolbar(view),
            settings=(
                *(PICTURES, FFT, FREQUENCIES, SPECTRA, AMPLITUDE, SPEED, VOLUME, FLOOR, CEILING, LOOP, LINK),
                *(STEPS, SAMPLES, ZOOMS, COMPARED),
            ),
            routes=make_router,
            nothing="No shown run has audio",
        )


def toolbar(view: View) -> html.Div:
    """Tag filter, what is drawn and how, and how it is played."""
    pictures = {"both": "Both", "waveform": "Waveform", "spectrogram": "Spectrogram"}
    return html.Div(
        [
            tag_filter_input(view),
            segmented(PICTURES, view, pictures, "What is drawn of a clip"),
            select(FFT, view, {str(size): str(size) for size in FFT_SIZES}, "FFT", "Samples of a window"),
            segmented(FREQUENCIES, view, {"mel": "Mel", "linear": "Linear"}, "Frequency axis"),
            segmented(SPECTRA, view, {"mix": "Mix", "each": "Each channel"}, "Spectrogram of which channels"),
            segmented(AMPLITUDE, view, {"full": "Full scale", "fit": "Fit"}, "Height of waveforms"),
            html.Div(
                [
                    html.Span("dB"),
                    number_slider(FLOOR, view, "Lowest level in decibels", -130, -10, 5),
                    html.Output(className="audio-levels"),
                    number_slider(CEILING, view, "Highest level in decibels", -120, 20, 5),
                ],
                className="field",
                title="Levels of the darkest and the brightest colour; 0 dB is a sine of full scale",
            ),
            select(SPEED, view, {value: f"{value} ×" for value in SPEEDS}, "Speed", "Speed of playing"),
            html.Div([html.Span("Volume"), number_slider(VOLUME, view, "Volume", 0, 1, 0.01)], className="field"),
            switch(LOOP, view, "Loop"),
            switch(LINK, view, "Link steps of all cards"),
        ],
        className="toolbar",
    )


def select(setting: Setting[str], view: View, options: dict[str, str], label: str, title: str) -> html.Label:
    """A choice from a list, ``options`` as value -> label."""
    box = short_select(setting, view, options, title, className="short-select")
    return html.Label([html.Span(label), box], className="field", title=title)


def card(tag: str, wide: bool, colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag, which ``audio/web/index.ts`` fills."""
    data = dcc.Store(id={"type": "audio-data", "key": tag})
    return titled_card(tag, tag, "audio", wide, html.Div([data, html.Div(className="fill")], className="card-body"))


def depends(tag: str, on: Draw) -> object:
    """What a card is made of."""
    return [(series.run, series.version) for series in on.series_of_tag(tag, PLUGIN_NAME)]


def draw(tag: str, on: Draw) -> dict[str, Any]:
    """Runs of a card with their colours, steps and wall times; the clips are asked for when they are looked at."""
    return {
        "tag": tag,
        "runs": [
            {
                "run": series.run,
                "light": on.colors[series.run].light,
                "dark": on.colors[series.run].dark,
                "steps": typed(series.steps),
                "walls": typed(series.wall_times),
            }
            for series in on.series_of_tag(tag, PLUGIN_NAME)
        ],
    }


PANEL = AudioPanel()
