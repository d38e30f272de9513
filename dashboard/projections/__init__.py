"""Projections of vectors to two or three dimensions, and measures of their quality.

Pure numerics, without files, jobs or pages.
"""
