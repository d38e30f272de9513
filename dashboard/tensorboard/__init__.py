"""TensorBoard's routes under ``/data``."""
