"""Many ranks of one job: their traces are read one by one, on any engine, and kept as facts."""
