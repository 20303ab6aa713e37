"""The command line: `tacit channel`, `tacit audit`, `tacit plan`, `tacit simulate`, `tacit demo`."""

from tacit.cli import channel, studies
from tacit.cli.base import app, main

__all__ = ["app", "channel", "main", "studies"]
