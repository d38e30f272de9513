"""Loggers and callbacks of training frameworks; each module needs its framework, which the core does not."""
