"""The command ``stepscope``: a module a verb."""
