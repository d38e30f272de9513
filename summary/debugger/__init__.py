"""The history of tensors in training: dumps of TensorFlow's debugger, and recordings of `stepscope.debug`."""
