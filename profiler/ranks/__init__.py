"""Many ranks of one job: their traces read one by one, on any engine, and kept as facts."""
