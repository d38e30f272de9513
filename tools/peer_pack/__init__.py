"""Makes ``tests/peers/pack`` anew: what other tools write, with their own figures of it. See the README there."""
