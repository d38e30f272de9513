"""Callbacks and loggers of training frameworks that need more than summaries; each module needs its framework."""
