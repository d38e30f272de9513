"""The web application and the verbs of the command ``stepscope``."""
