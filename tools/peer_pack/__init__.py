"""Makes ``tests/peers/pack`` again: what other tools write, with their own figures of it. See the README there."""
