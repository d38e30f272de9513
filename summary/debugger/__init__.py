"""What became of the tensors of a training: dumps of TensorFlow's debugger, and recordings of `stepscope.debug`."""
