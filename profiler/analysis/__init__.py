"""Analyses of traces: pure functions from a `stepscope.profiler.trace.Trace` to a Polars table, one module each.

Each function takes a trace, or the `Facts` of one, which several analyses can share. Times are int64 nanoseconds in
columns that end in ``_ns``; shares are percentages in columns that end in ``_percent``. Importing this package imports
Polars only when a table is made.

    from stepscope.profiler.analysis.facts import Facts
    from stepscope.profiler.analysis.operators import operators

    facts = Facts(read_trace(path.read_bytes(), name=path.name))
    operators(facts, by=("name", "shape"))

`stepscope.profiler.analysis.report.ANALYSES` lists the record of each analysis, which describes its columns.
"""
