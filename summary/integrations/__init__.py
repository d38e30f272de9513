"""Loggers and callbacks for training frameworks; each module needs its framework, which the core does not."""
