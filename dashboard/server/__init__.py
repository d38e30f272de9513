"""The web application: what every request passes through, where it is processed, and how new data are announced."""
