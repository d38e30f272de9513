"""The audio panel: one card per tag, with the clip of every shown run at one step."""

from dash import dcc, html

from stepscope.dashboard.page.controls import number_slider, segmented, short_select, switch, tag_filter_input
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.audio.messages import CardData
from stepscope.dashboard.panels.audio.routes import make_router
from stepscope.dashboard.panels.audio.settings import (
    AMPLITUDE,
    CEILING,
    FFT,
    FLOOR,
    FREQUENCIES,
    LINK,
    LOOP,
    PICTURES,
    SETTINGS,
    SPECTRA,
    SPEED,
    VOLUME,
)
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import Draw, Shown, tag_keys, titled_card
from stepscope.dashboard.server.arrays import typed
from stepscope.summary.kinds.audio import PLUGIN_NAME


class AudioPanel(CardPanel):
    """Sound over steps."""

    name = "audio"
    title = "Audio"
    group = "Media"
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
            settings=SETTINGS,
            routes=make_router,
            nothing="No audio in the visible runs",
        )


def toolbar(view: View) -> html.Div:
    """Return the controls: tag filter, what is drawn and how, and playback."""
    pictures = {"both": "Both", "waveform": "Waveform", "spectrogram": "Spectrogram"}
    return html.Div(
        [
            tag_filter_input(view),
            segmented(PICTURES, view, pictures, "What to draw for each clip"),
            select(FFT, view, {size: size for size in FFT.options}, "FFT", "FFT window size, in samples"),
            segmented(FREQUENCIES, view, {"mel": "Mel", "linear": "Linear"}, "Frequency axis"),
            segmented(SPECTRA, view, {"mix": "Mix", "each": "Each channel"}, "Channels of the spectrogram"),
            segmented(AMPLITUDE, view, {"full": "Full scale", "fit": "Fit"}, "Height of waveforms"),
            html.Div(
                [
                    html.Span("dB"),
                    number_slider(FLOOR, view, "Lowest level in decibels", 5),
                    html.Output(className="audio-levels"),
                    number_slider(CEILING, view, "Highest level in decibels", 5),
                ],
                className="field",
                title="Levels of the darkest and brightest colors; 0 dB is a full-scale sine",
            ),
            select(SPEED, view, {value: f"{value} ×" for value in SPEED.options}, "Speed", "Playback speed"),
            html.Div([html.Span("Volume"), number_slider(VOLUME, view, "Volume", 0.01)], className="field"),
            switch(LOOP, view, "Loop"),
            switch(LINK, view, "Link steps"),
        ],
        className="toolbar",
    )


def select(setting: Setting[str], view: View, options: dict[str, str], label: str, title: str) -> html.Label:
    """Return a dropdown; ``options`` maps values to labels."""
    box = short_select(setting, view, options, title, className="short-select")
    return html.Label([html.Span(label), box], className="field", title=title)


def card(tag: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of one tag, which ``audio/web/mount.ts`` fills."""
    data = dcc.Store(id={"type": "audio-data", "key": tag})
    return titled_card(tag, tag, "audio", wide, html.Div([data, html.Div(className="fill")], className="card-body"))


def depends(tag: str, on: Draw) -> object:
    """Return what a card depends on."""
    return [(series.run, series.version) for series in on.series_of_tag(tag, PLUGIN_NAME)]


def draw(tag: str, on: Draw) -> CardData:
    """Return the runs of a card with their colors, steps and wall times; clips are requested when they are viewed."""
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
