"""TensorBoard in this process, serving a log directory in its current state with every point kept."""

import argparse
import json
from pathlib import Path
from typing import Any

from tensorboard import default
from tensorboard.backend import application
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from werkzeug.test import Client, TestResponse

SAMPLED = ("scalars", "images", "audio", "histograms", "distributions", "text", "pr_curves", "mesh", "hparams")


class TensorBoard:
    """Answers requests as ``tensorboard --load_fast=false`` does when told to keep everything."""

    def __init__(self, logdir: Path) -> None:
        multiplexer = EventMultiplexer(size_guidance={"tensors": 0}, tensor_size_guidance=dict.fromkeys(SAMPLED, 0))
        multiplexer.AddRunsFromDirectory(str(logdir))
        multiplexer.Reload()
        flags = argparse.Namespace(
            logdir=str(logdir),
            logdir_spec="",
            path_prefix="",
            window_title="",
            samples_per_plugin=dict.fromkeys(SAMPLED, 1 << 30),
        )
        provider = MultiplexerDataProvider(multiplexer, str(logdir))
        self.client = Client(application.TensorBoardWSGIApp(flags, default.get_plugins(), provider))

    def get(self, path: str, **query: Any) -> TestResponse:
        return self.client.get(f"/data/{path}", query_string=query or None)

    def post(self, path: str, **request: Any) -> TestResponse:
        return self.client.post(f"/data/{path}", **request)

    def json(self, path: str, **query: Any) -> Any:
        return json.loads(self.get(path, **query).get_data())
