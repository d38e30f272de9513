"""Conversion of Polars tables to pandas."""

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: pl.DataFrame) -> "pd.DataFrame":
    """Return a table as a pandas DataFrame.

    Unlike the Polars method of the same name, this needs no pyarrow, and integer columns with nulls stay integers.

    Raises:
        ModuleNotFoundError: pandas is not installed; the message says so.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_pandas needs pandas. Run: pip install pandas") from error
    return pd.DataFrame({name: _column(table[name], pd) for name in table.columns})


def _column(values: pl.Series, pd: Any) -> Any:
    has_nulls = values.null_count() > 0
    match values.dtype:
        case pl.Categorical():
            names = values.unique(maintain_order=True).drop_nulls().to_list()
            return pd.Categorical(values.to_list(), categories=[str(name) for name in names])
        case pl.Int64() if has_nulls:
            return pd.array(values.to_list(), dtype="Int64")
        case pl.Boolean() if has_nulls:
            return pd.array(values.to_list(), dtype="boolean")
        case dtype if dtype.is_numeric() or dtype == pl.Boolean():
            return values.to_numpy()
        case _:
            return pd.Series(values.to_list(), dtype=object)
