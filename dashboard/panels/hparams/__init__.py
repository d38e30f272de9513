"""The hparams panel: the hyperparameters of sessions, their metrics, and which hyperparameters mattered."""
