"""The command ``stepscope``: one module per verb."""
