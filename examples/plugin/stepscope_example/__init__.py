"""Spectra of weights for Stepscope: what singular values a layer has, step by step.

``add_spectrum(writer, "encoder/weight", weight, step)`` logs those of a matrix with a `stepscope.SummaryWriter`.
"""

from stepscope_example.kind import add_spectrum

__all__ = ["add_spectrum"]
