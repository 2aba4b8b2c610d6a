"""meshlint: finds, before launch, what makes a distributed training run hang, crash late or train wrong."""

__version__ = "0.1.0"
