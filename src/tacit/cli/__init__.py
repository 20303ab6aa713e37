"""The command line: `tacit channel`, `tacit audit`, `tacit plan`, `tacit simulate`, `tacit demo`,
`tacit aggregate`, `tacit poison`, `tacit sketch`; and for the collector `tacit serve`, `tacit worker`, `tacit study`,
`tacit poll`, `tacit respond` and `tacit witness`."""

from tacit.cli import aggregate, channel, device, pages, poison, remote, serving, studies
from tacit.cli.base import app, main

__all__ = ["aggregate", "app", "channel", "device", "main", "pages", "poison", "remote", "serving", "studies"]
