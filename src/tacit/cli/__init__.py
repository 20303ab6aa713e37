"""The command line: `tacit channel`, `tacit audit`, `tacit plan`, `tacit simulate`, `tacit demo`,
`tacit aggregate`, `tacit poison`, `tacit sketch`."""

from tacit.cli import aggregate, channel, poison, studies
from tacit.cli.base import app, main

__all__ = ["aggregate", "app", "channel", "main", "poison", "studies"]
