"""The driver of an emitted accelerator: registers and memory behind an interface that hardware has too."""
