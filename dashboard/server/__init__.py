"""The web application: what every request passes, where it is worked on, and how new data are told of."""
