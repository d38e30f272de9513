"""Spectra of weights for Stepscope: the singular values of a layer, step by step.

``add_spectrum(writer, "encoder/weight", weight, step)`` logs those of a matrix with a `stepscope.SummaryWriter`.
"""

from stepscope_example.kind import add_spectrum

__all__ = ["add_spectrum"]
