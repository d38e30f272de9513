"""The histograms panel."""
