"""Watch the tensors of a training: which went bad first, where it was made, and what it looked like."""
