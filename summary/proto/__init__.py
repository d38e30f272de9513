"""Messages of event files, wire-compatible with TensorFlow's and TensorBoard's, in the package ``stepscope``.

``make protos`` regenerates the modules from the ``.proto`` files beside them.
"""
