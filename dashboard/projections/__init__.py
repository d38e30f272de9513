"""Projections of vectors to two or three dimensions, and what is measured of them.

Pure numerics, without files, jobs or pages.
"""
