"""The version, in one place: the package, its files and its builds read it here."""

__version__ = "0.1.0"
