"""The schedule of a training iteration: commands of the accelerator's units, in order, and where tensors lie."""
