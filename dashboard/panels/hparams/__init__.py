"""The hparams panel: what sessions were given, what they reached, and which of it mattered."""
