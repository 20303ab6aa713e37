"""The command line: `tacit channel`, `tacit audit`, `tacit plan`, `tacit simulate`, `tacit demo`,
`tacit poison`, `tacit sketch`."""

from tacit.cli import channel, poison, studies
from tacit.cli.base import app, main

__all__ = ["app", "channel", "main", "poison", "studies"]
